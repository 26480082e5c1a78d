// The engine: standard files, laid out by one rank, filled by position with plain writes, so that no library stands
// between the run and an error.
#include <optional>

#include "io/disk/file_system.hpp"
#include "io/methods/aggregated/aggregation.hpp"
#include "io/methods/rows.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

// The disk begins at once with what must be on it in the end, while the next piece is packed.
void write_and_begin_sync(OutputFile& file, std::int64_t offset, std::span<const std::byte> bytes, bool is_durable) {
  file.write_at(offset, bytes);
  if (is_durable) file.begin_sync(offset, static_cast<std::int64_t>(bytes.size()));
}

// --- each rank for itself
// ---------------------------------------------------------------------------------------------------------

AccessStatistics write_directly(const ArrayWrite& work, std::span<const std::size_t> groups) {
  AccessStatistics statistics;
  std::optional<OutputFile> file;
  std::vector<std::byte> buffer;
  for (const std::size_t g : groups) {
    const ArrayGroup& group = work.groups[g];
    const std::vector<Piece> pieces = pieces_of(group);
    for (std::size_t a = 0; a < group.arrays.size(); ++a)
      for (const Piece& piece : pieces) {
        const std::int64_t row_bytes = group.arrays[a].row_bytes();
        const core::Stopwatch watch;
        buffer.resize(static_cast<std::size_t>(piece.count * row_bytes));
        pack_piece(group, a, piece, buffer);
        statistics.copy_s += watch.seconds();
        if (!file) file.emplace(work.path, OutputFile::Open::modify);
        write_and_begin_sync(*file, work.offsets[g][a] + piece.first * row_bytes, buffer, work.options.is_durable);
      }
  }
  if (file) {
    file->close();
    statistics += file->statistics();
  }
  return statistics;
}

// --- the choice
// ---------------------------------------------------------------------------------------------------------------------

// Pieces below this size are better put together first, and so are those of more ranks than this.
constexpr std::int64_t small_piece_bytes = 256 << 10;
constexpr int most_direct_writers = 512;

// On a file system of large units a request is dear, and so is a unit that two ranks write into. Elsewhere what counts
// is the size of the pieces: a rank may have much, and all of it in small ones. `pieces`: of all ranks.
bool is_better_aggregated(const ArrayWrite& work, const FileSystem& system, const ArrayGroup& group,
                          std::int64_t pieces) {
  const std::int64_t bytes = group.rows * group.arrays.front().row_bytes();
  return system.has_large_units() ? bytes / work.comm.size() < work.options.buffer_bytes
                                  : group.run_total > work.comm.size() && bytes < pieces * small_piece_bytes;
}

// One answer a group, the same on all ranks.
std::vector<bool> are_better_aggregated(const ArrayWrite& work, const FileSystem& system) {
  const int ranks = work.comm.size();
  if (ranks == 1 || ranks > most_direct_writers) return std::vector<bool>(work.groups.size(), ranks > 1);
  std::vector<std::int64_t> pieces;
  for (const ArrayGroup& group : work.groups) pieces.push_back(std::ssize(pieces_of(group)));
  work.comm.sum(std::span(pieces));
  std::vector<bool> answers;
  for (std::size_t g = 0; g < work.groups.size(); ++g)
    answers.push_back(is_better_aggregated(work, system, work.groups[g], pieces[g]));
  return answers;
}

// As the first rank sees it.
FileSystem common_file_system(const ArrayWrite& work) {
  return work.comm.broadcast(work.comm.rank() == 0 ? file_system_of(work.path, work.options.stripes > 0)
                                                   : FileSystem{});
}

// The groups that are to be `aggregated` through aggregators, the others directly.
AccessStatistics write_groups(const ArrayWrite& work, const FileSystem& system, const std::vector<bool>& aggregated) {
  std::vector<std::size_t> through_others, directly;
  for (std::size_t g = 0; g < aggregated.size(); ++g) (aggregated[g] ? through_others : directly).push_back(g);
  AccessStatistics statistics;
  work.comm.agree_on([&] { statistics = write_aggregated(work, through_others, system); });
  statistics += write_directly(work, directly);
  return statistics;
}

}  // namespace

WriteMethod engine_method() {
  return {"engine",
          "plain writes at known places; small pieces are put together on some ranks first",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            const FileSystem system = common_file_system(work);
            return write_groups(work, system, are_better_aggregated(work, system));
          }};
}

WriteMethod aggregated_method() {
  return {"aggregated",
          "the rows are brought to some ranks in the order of the file, which write large pieces",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            return write_groups(work, common_file_system(work), std::vector<bool>(work.groups.size(), true));
          }};
}

}  // namespace sidestream::io
