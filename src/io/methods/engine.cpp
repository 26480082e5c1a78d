// The engine: standard files, laid out by one rank, filled by position with plain writes, so that no library stands
// between the run and an error. The places of a group's arrays are an index space of its own (element, row, array),
// and collective buffering is a redistribution from the rows that ranks hold to the pieces that aggregators write.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>

#include "io/methods/rows.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::io {

namespace {

using mesh::Box;
using mesh::Layout;

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
        statistics.exchange_s += watch.seconds();
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

// --- through aggregators
// ------------------------------------------------------------------------------------------------------------

struct HeldRows {
  std::int64_t first, count;
  std::int32_t rank;
};

std::vector<HeldRows> all_held_rows(const comm::Communicator& comm, const ArrayGroup& group) {
  std::vector<HeldRows> own;
  for (const Piece& piece : pieces_of(group)) own.push_back({piece.first, piece.count, comm.rank()});
  return comm.all_gather(std::span<const HeldRows>(own));
}

// What is under way at a time: rows of arrays [first_array, last_array).
struct Window {
  std::size_t first_array = 0, last_array = 0;
  std::int64_t first = 0, count = 0;
};

Rows common_rows(const Window& window, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::max(window.first, first);
  return {begin, std::max<std::int64_t>(0, std::min(window.first + window.count, first + count) - begin)};
}

// Whole arrays, or rows of one that is larger than the buffers of all aggregators.
std::vector<Window> windows_of(const ArrayGroup& group, std::int64_t buffers_bytes) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const std::int64_t rows =
      std::clamp<std::int64_t>(buffers_bytes / std::max<std::int64_t>(1, group.arrays.front().row_bytes()), 1, most);
  const auto arrays = static_cast<std::size_t>(std::max<std::int64_t>(1, rows / group.rows));
  std::vector<Window> windows;
  for (std::size_t a = 0; a < group.arrays.size(); a += arrays)
    for (std::int64_t row = 0; row < group.rows; row += rows)
      windows.push_back({a, std::min(a + arrays, group.arrays.size()), row, std::min(rows, group.rows - row)});
  return windows;
}

// The rows of a window that each rank holds, as boxes (element, row, array).
Layout held_layout(const ArrayGroup& group, const std::vector<HeldRows>& all, const Window& window) {
  const auto width = static_cast<std::int32_t>(group.arrays.front().row_elements());
  const auto arrays = static_cast<std::int32_t>(window.last_array - window.first_array);
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (const HeldRows& held : all) {
    const Rows rows = common_rows(window, held.first, held.count);
    if (rows.count == 0) continue;
    const auto first = static_cast<std::int32_t>(rows.first - window.first);
    boxes.push_back({{0, first, 0}, {width, first + static_cast<std::int32_t>(rows.count), arrays}});
    owners.push_back(held.rank);
  }
  return {mesh::domain_of({width, static_cast<std::int32_t>(window.count), arrays}), {}, boxes, owners};
}

// The same places dealt to `aggregators` ranks in the order of the file: each has a part of an array, whole arrays, a
// part of an array.
Layout written_layout(const Layout& held, int ranks, int aggregators) {
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

// A window of a group on its way to the aggregators. `T` is any element of the size of theirs.
template <typename T>
class Round {
 public:
  Round(const ArrayWrite& work, std::size_t group, const std::vector<HeldRows>& all, const Window& window,
        int aggregators)
      : work_(work),
        group_(work.groups[group]),
        offsets_(work.offsets[group]),
        window_(window),
        held_layout_(held_layout(group_, all, window)),
        written_layout_(written_layout(held_layout_, work.comm.size(), aggregators)),
        plan_(work.comm, held_layout_, written_layout_, redistribute::Strategy::p2p),
        held_(held_layout_, work.comm.rank()),
        written_(written_layout_, work.comm.rank()) {}

  void pack() {
    int b = 0;
    for (const Piece& piece : pieces_of(group_)) {
      if (common_rows(window_, piece.first, piece.count).count == 0) continue;
      auto block = std::as_writable_bytes(held_.block(b++));
      for (std::size_t a = window_.first_array; a < window_.last_array; ++a)
        for (std::size_t r = piece.first_run; r < piece.last_run; ++r) block = block.subspan(pack_run(a, r, block));
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
      write_and_begin_sync(*file, begin, bytes, work_.options.is_durable);
      bytes = {};
    };
    for (int b = 0; b < written_.blocks(); ++b) {
      const Box box = written_.box(b);
      std::span<const std::byte> block = std::as_bytes(written_.block(b));
      const auto of_array = static_cast<std::size_t>((box.hi.y - box.lo.y) * row_bytes);
      for (std::int32_t a = box.lo.z; a < box.hi.z; ++a, block = block.subspan(of_array)) {
        const std::int64_t offset =
            offsets_[window_.first_array + static_cast<std::size_t>(a)] + (window_.first + box.lo.y) * row_bytes;
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
  // Packs what the window has of a run; returns its bytes.
  std::size_t pack_run(std::size_t array, std::size_t r, std::span<std::byte> out) {
    const RowRun& run = group_.runs[r];
    const std::int64_t row_bytes = group_.arrays[array].row_bytes();
    const Rows rows = common_rows(window_, run.first, run.count);
    const auto bytes = static_cast<std::size_t>(rows.count * row_bytes);
    if (rows.count == 0) return 0;
    if (rows.count == run.count) {
      group_.pack(array, r, out.first(bytes));
    } else {
      scratch_.resize(static_cast<std::size_t>(run.count * row_bytes));
      group_.pack(array, r, scratch_);
      std::copy_n(scratch_.data() + (rows.first - run.first) * row_bytes, bytes, out.data());
    }
    return bytes;
  }

  const ArrayWrite& work_;
  const ArrayGroup& group_;
  std::span<const std::int64_t> offsets_;
  Window window_;
  Layout held_layout_, written_layout_;
  redistribute::Redistribution plan_;
  mesh::Field<T> held_, written_;
  std::vector<std::byte> scratch_;
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
  const std::vector<HeldRows> all = all_held_rows(work.comm, group);
  AccessStatistics statistics;
  FirstFailure failure;
  const auto unless_failed = [&](const auto& local_work) {
    if (!failure.has_failed()) failure.keep(local_work);
  };
  std::unique_ptr<Round<T>> arriving, arrived;
  const auto take_arriving = [&] {
    if (arriving) arriving->finish();
    arrived = std::move(arriving);
  };
  const auto write_arrived = [&] {
    if (arrived) unless_failed([&] { arrived->write(file); });
    arrived.reset();
  };
  for (const Window& window : windows_of(group, aggregators * work.options.buffer_bytes)) {
    const core::Stopwatch watch;
    take_arriving();
    arriving = std::make_unique<Round<T>>(work, g, all, window, aggregators);
    unless_failed([&] { arriving->pack(); });
    arriving->start();
    statistics.exchange_s += watch.seconds();
    write_arrived();
  }
  take_arriving();
  write_arrived();
  failure.rethrow();
  return statistics;
}

AccessStatistics write_aggregated(const ArrayWrite& work, std::span<const std::size_t> groups) {
  AccessStatistics statistics;
  std::optional<OutputFile> file;
  for (const std::size_t g : groups) {
    if (work.groups[g].rows * work.groups[g].arrays.front().row_elements() == 0) continue;
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

// Pieces below this size are better put together first, and so are those of more ranks than this.
constexpr std::int64_t small_piece_bytes = 256 << 10;
constexpr int most_direct_writers = 512;

bool is_better_aggregated(const ArrayWrite& work, const ArrayGroup& group) {
  const int ranks = work.comm.size();
  if (ranks > most_direct_writers) return true;
  return ranks > 1 && group.run_total > ranks &&
         group.rows * group.arrays.front().row_bytes() / ranks < small_piece_bytes;
}

// The elements of a row are cells of a box.
bool has_short_rows(const ArrayGroup& group) {
  return group.arrays.front().row_elements() <= std::numeric_limits<std::int32_t>::max();
}

std::vector<std::size_t> groups_where(const ArrayWrite& work, const auto& condition) {
  std::vector<std::size_t> chosen;
  for (std::size_t g = 0; g < work.groups.size(); ++g)
    if (condition(work.groups[g])) chosen.push_back(g);
  return chosen;
}

// Those groups through aggregators, the others directly.
AccessStatistics write_where(const ArrayWrite& work, const auto& is_aggregated) {
  AccessStatistics statistics = write_aggregated(work, groups_where(work, is_aggregated));
  statistics += write_directly(work, groups_where(work, std::not_fn(is_aggregated)));
  return statistics;
}

}  // namespace

WriteMethod engine_method() {
  return {"engine",
          "plain writes at known places; small pieces are put together on some ranks first",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            return write_where(work, [&](const ArrayGroup& group) {
              return has_short_rows(group) && is_better_aggregated(work, group);
            });
          }};
}

WriteMethod aggregated_method() {
  return {"aggregated",
          "the rows are brought to some ranks in the order of the file, which write large pieces",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) { return write_where(work, has_short_rows); }};
}

}  // namespace sidestream::io
