// The engine: standard files, laid out by one rank, filled by position with plain writes, so that no library stands
// between the run and an error.
#include <limits>
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

AccessStatistics write_directly(const ArrayWrite& work) {
  AccessStatistics statistics;
  std::optional<OutputFile> file;
  std::vector<std::byte> buffer;
  for (std::size_t g = 0; g < work.groups.size(); ++g) {
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

// Where a request costs little, pieces below this size are better put together first (bench_io --case enzo, ext4).
constexpr std::int64_t small_piece_bytes = 16 << 10;
// All pieces of more ranks than this.
constexpr int most_direct_writers = 512;

// What each group has in smaller pieces of an array than this is put together first. The same on all ranks.
std::int64_t least_direct_bytes(const ArrayWrite& work, const FileSystem& system, const ArrayGroup& group) {
  constexpr std::int64_t none = 0, all = std::numeric_limits<std::int64_t>::max();
  const int ranks = work.comm.size();
  if (ranks == 1) return none;
  if (ranks > most_direct_writers) return all;
  // On a file system of large units a request is dear, and so is a unit that two ranks write into.
  const std::int64_t bytes = group.rows * group.arrays.front().row_bytes();
  if (system.has_large_units()) return bytes / ranks < work.options.buffer_bytes ? all : none;
  return group.run_total > ranks ? small_piece_bytes : none;
}

// A group with some of the runs.
ArrayGroup with_runs(const ArrayGroup& group, std::vector<std::size_t> chosen) {
  ArrayGroup part{.rows = group.rows,
                  .run_total = group.run_total,
                  .runs = {},
                  .arrays = group.arrays,
                  .pack = {},
                  .in_place = {},
                  .checksums = {}};
  for (const std::size_t run : chosen) part.runs.push_back(group.runs[run]);
  part.pack = [&group, chosen = std::move(chosen)](std::size_t array, std::size_t run, std::span<std::byte> out) {
    group.pack(array, chosen[run], out);
  };
  return part;
}

// Some of what is to be written.
struct Share {
  std::vector<ArrayGroup> groups;
  std::vector<std::vector<std::int64_t>> offsets;

  void add(ArrayGroup group, const std::vector<std::int64_t>& places) {
    groups.push_back(std::move(group));
    offsets.push_back(places);
  }
  ArrayWrite of(const ArrayWrite& work) const {
    return {work.comm, work.path, work.container, groups, offsets, work.options};
  }
};

// As the first rank sees it.
FileSystem common_file_system(const ArrayWrite& work) {
  return work.comm.broadcast(work.comm.rank() == 0 ? file_system_of(work.path, work.options.stripes > 0)
                                                   : FileSystem{});
}

// Pieces of a group that are smaller than its number of bytes go through aggregators, the others directly.
AccessStatistics write_divided(const ArrayWrite& work, const FileSystem& system,
                               std::span<const std::int64_t> least_direct_bytes) {
  Share through_others, directly;
  std::vector<std::vector<std::size_t>> small(work.groups.size());
  std::vector<std::int64_t> small_pieces(work.groups.size());
  for (std::size_t g = 0; g < work.groups.size(); ++g) {
    const ArrayGroup& group = work.groups[g];
    std::vector<std::size_t> large;
    for (const Piece& piece : pieces_of(group)) {
      const bool is_small = piece.count * group.arrays.front().row_bytes() < least_direct_bytes[g];
      small_pieces[g] += is_small;
      for (std::size_t run = piece.first_run; run < piece.last_run; ++run) (is_small ? small[g] : large).push_back(run);
    }
    directly.add(with_runs(group, std::move(large)), work.offsets[g]);
  }
  work.comm.sum(std::span(small_pieces));
  for (std::size_t g = 0; g < work.groups.size(); ++g)
    if (small_pieces[g] > 0) through_others.add(with_runs(work.groups[g], std::move(small[g])), work.offsets[g]);
  AccessStatistics statistics;
  work.comm.agree_on([&] { statistics = write_aggregated(through_others.of(work), system); });
  statistics += write_directly(directly.of(work));
  return statistics;
}

}  // namespace

WriteMethod engine_method() {
  return {"engine",
          "plain writes at known places; small pieces are put together on some ranks first",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            const FileSystem system = common_file_system(work);
            std::vector<std::int64_t> least;
            for (const ArrayGroup& group : work.groups) least.push_back(least_direct_bytes(work, system, group));
            return write_divided(work, system, least);
          }};
}

WriteMethod aggregated_method() {
  return {"aggregated",
          "the rows are brought to some ranks in the order of the file, which write large pieces",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) { return write_aggregated(work, common_file_system(work)); }};
}

}  // namespace sidestream::io
