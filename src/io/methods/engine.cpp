// The engine: standard files, laid out by one rank, filled by position with plain writes, so that no library stands
// between the run and an error. The places of a group's arrays are an index space of its own (element, row, array),
// and collective buffering is a redistribution from the rows that ranks hold to the pieces that aggregators write.
#include <algorithm>
#include <exception>
#include <functional>
#include <optional>

#include "../write_methods.hpp"
#include "rows.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::io {

namespace {

using mesh::Box;
using mesh::Layout;

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
        statistics.exchange_s += watch.seconds();
        if (!file) file.emplace(work.path, OutputFile::Open::modify);
        file->write_at(work.offsets[g][a] + piece.first * row_bytes, buffer);
      }
  }
  if (file) {
    file->close();
    statistics += file->statistics();
  }
  return statistics;
}

// --- through aggregators
// ------------------------------------------------------------------------------------------------------------

// The rows that each rank holds, as boxes (element, row, array) of `arrays` arrays.
Layout held_rows(const comm::Communicator& comm, const ArrayGroup& group, std::int32_t arrays) {
  struct Held {
    std::int64_t first, count;
    std::int32_t rank;
  };
  std::vector<Held> own;
  for (const Piece& piece : pieces_of(group))
    if (piece.count > 0) own.push_back({piece.first, piece.count, comm.rank()});
  const auto width = static_cast<std::int32_t>(group.arrays.front().row_elements());
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (const Held& held : comm.all_gather(std::span<const Held>(own))) {
    boxes.push_back({{0, static_cast<std::int32_t>(held.first), 0},
                     {width, static_cast<std::int32_t>(held.first + held.count), arrays}});
    owners.push_back(held.rank);
  }
  return {mesh::domain_of({width, static_cast<std::int32_t>(group.rows), arrays}), {}, boxes, owners};
}

// The same places dealt to `aggregators` ranks in the order of the file: each has a part of an array, whole arrays, a
// part of an array.
Layout written_rows(const Layout& held, int ranks, int aggregators) {
  const mesh::Int3 extent = held.domain().extent();
  const std::int64_t total = std::int64_t{extent.y} * extent.z;
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (int k = 0; k < aggregators; ++k) {
    std::int64_t begin = total * k / aggregators;
    const std::int64_t end = total * (k + 1) / aggregators;
    while (begin < end) {
      const auto array = static_cast<std::int32_t>(begin / extent.y), row = static_cast<std::int32_t>(begin % extent.y);
      const auto whole = static_cast<std::int32_t>((end - begin) / extent.y);
      const bool is_whole = row == 0 && whole > 0;
      const auto last_row =
          is_whole ? extent.y : static_cast<std::int32_t>(std::min<std::int64_t>(extent.y, row + end - begin));
      const std::int32_t arrays = is_whole ? whole : 1;
      boxes.push_back({{0, row, array}, {extent.x, last_row, array + arrays}});
      owners.push_back(static_cast<std::int32_t>(std::int64_t{k} * ranks / aggregators));
      begin += std::int64_t{last_row - row} * arrays;
    }
  }
  return {held.domain(), {}, boxes, owners};
}

// Consecutive arrays of a group on their way to the aggregators. `T` is any element of the size of theirs.
template <typename T>
class Round {
 public:
  Round(const ArrayWrite& work, std::size_t group, std::size_t first, std::size_t last, int aggregators)
      : work_(work),
        group_(work.groups[group]),
        offsets_(work.offsets[group]),
        first_(first),
        held_layout_(held_rows(work.comm, group_, static_cast<std::int32_t>(last - first))),
        written_layout_(written_rows(held_layout_, work.comm.size(), aggregators)),
        plan_(work.comm, held_layout_, written_layout_, redistribute::Strategy::p2p),
        held_(held_layout_, work.comm.rank()),
        written_(written_layout_, work.comm.rank()) {}

  void pack() {
    const std::vector<Piece> pieces = pieces_of(group_);
    int b = 0;
    for (const Piece& piece : pieces) {
      if (piece.count == 0) continue;
      const auto block = std::as_writable_bytes(held_.block(b++));
      const auto arrays = static_cast<std::size_t>(held_layout_.domain().extent().z);
      const std::size_t bytes = block.size() / arrays;
      for (std::size_t a = 0; a < arrays; ++a) pack_piece(group_, first_ + a, piece, block.subspan(a * bytes, bytes));
    }
  }

  void start() { plan_.start(held_, written_); }
  void finish() { plan_.finish(written_); }

  // Arrays that lie one behind the other in the file are written at once.
  void write(std::optional<OutputFile>& file) const {
    const std::int64_t row_bytes = group_.arrays.front().row_bytes();
    std::int64_t begin = 0;
    std::span<const std::byte> bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (!file) file.emplace(work_.path, OutputFile::Open::modify);
      file->write_at(begin, bytes);
      bytes = {};
    };
    for (int b = 0; b < written_.blocks(); ++b) {
      const Box box = written_.box(b);
      std::span<const std::byte> block = std::as_bytes(written_.block(b));
      const auto of_array = static_cast<std::size_t>((box.hi.y - box.lo.y) * row_bytes);
      for (std::int32_t a = box.lo.z; a < box.hi.z; ++a, block = block.subspan(of_array)) {
        const std::int64_t offset = offsets_[first_ + static_cast<std::size_t>(a)] + box.lo.y * row_bytes;
        if (begin + static_cast<std::int64_t>(bytes.size()) != offset || bytes.data() + bytes.size() != block.data()) {
          flush();
          begin = offset;
          bytes = block.first(0);
        }
        bytes = {bytes.data(), bytes.size() + of_array};
      }
    }
    flush();
  }

 private:
  const ArrayWrite& work_;
  const ArrayGroup& group_;
  std::span<const std::int64_t> offsets_;
  std::size_t first_;
  Layout held_layout_, written_layout_;
  redistribute::Redistribution plan_;
  mesh::Field<T> held_, written_;
};

int aggregators_of(const ArrayWrite& work, const ArrayGroup& group) {
  if (work.options.aggregators > 0) return std::min(work.options.aggregators, work.comm.size());
  const std::int64_t bytes =
      group.rows * group.arrays.front().row_bytes() * static_cast<std::int64_t>(group.arrays.size());
  return static_cast<int>(std::clamp<std::int64_t>(bytes / work.options.buffer_bytes, 1, work.comm.size()));
}

// While the aggregators write a round, the next one is on its way to them. A rank that fails goes on exchanging, so
// that nobody waits for it, and throws at the end.
template <typename T>
AccessStatistics write_group(const ArrayWrite& work, std::size_t g, std::optional<OutputFile>& file) {
  const ArrayGroup& group = work.groups[g];
  const int aggregators = aggregators_of(work, group);
  const std::int64_t array_bytes = std::max<std::int64_t>(1, group.rows * group.arrays.front().row_bytes());
  const auto arrays_a_round =
      static_cast<std::size_t>(std::max<std::int64_t>(1, aggregators * work.options.buffer_bytes / array_bytes));
  AccessStatistics statistics;
  std::exception_ptr failure;
  const auto unless_failed = [&](const auto& local_work) {
    try {
      if (!failure) local_work();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  std::optional<Round<T>> arriving, arrived;
  for (std::size_t first = 0; first < group.arrays.size() || arriving; first += arrays_a_round) {
    const core::Stopwatch watch;
    if (arriving) {
      arriving->finish();
      arrived.emplace(std::move(*arriving));
      arriving.reset();
    }
    if (first < group.arrays.size()) {
      arriving.emplace(work, g, first, std::min(first + arrays_a_round, group.arrays.size()), aggregators);
      unless_failed([&] { arriving->pack(); });
      arriving->start();
    }
    statistics.exchange_s += watch.seconds();
    if (arrived) unless_failed([&] { arrived->write(file); });
    arrived.reset();
  }
  if (failure) std::rethrow_exception(failure);
  return statistics;
}

AccessStatistics write_aggregated(const ArrayWrite& work, std::span<const std::size_t> groups) {
  AccessStatistics statistics;
  std::optional<OutputFile> file;
  for (const std::size_t g : groups) {
    if (work.groups[g].rows == 0) continue;
    work.comm.agree_on([&] {
      statistics += size_of(work.groups[g].arrays.front().type) == 4 ? write_group<float>(work, g, file)
                                                                     : write_group<double>(work, g, file);
    });
  }
  if (file) {
    file->close();
    statistics += file->statistics();
  }
  return statistics;
}

// --- the choice
// ---------------------------------------------------------------------------------------------------------------------

// Pieces below this size are better put together first.
constexpr std::int64_t small_piece_bytes = 256 << 10;

bool has_small_pieces(const ArrayWrite& work, const ArrayGroup& group) {
  return work.comm.size() > 1 && group.run_total > work.comm.size() &&
         group.rows * group.arrays.front().row_bytes() / work.comm.size() < small_piece_bytes;
}

std::vector<std::size_t> groups_where(const ArrayWrite& work, const auto& condition) {
  std::vector<std::size_t> chosen;
  for (std::size_t g = 0; g < work.groups.size(); ++g)
    if (condition(work.groups[g])) chosen.push_back(g);
  return chosen;
}

}  // namespace

WriteMethod engine_method() {
  return {"engine",
          "plain writes at known places; small pieces are put together on some ranks first",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            const auto is_small = [&](const ArrayGroup& group) { return has_small_pieces(work, group); };
            AccessStatistics statistics = write_aggregated(work, groups_where(work, is_small));
            statistics += write_directly(work, groups_where(work, std::not_fn(is_small)));
            return statistics;
          }};
}

WriteMethod aggregated_method() {
  return {"aggregated",
          "the rows are brought to some ranks in the order of the file, which write large pieces",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            return write_aggregated(work, groups_where(work, [](const ArrayGroup&) { return true; }));
          }};
}

}  // namespace sidestream::io
