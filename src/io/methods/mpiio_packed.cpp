// MPI-IO at known places of the file, of packed rows.
#include <algorithm>
#include <numeric>

#include "io/methods/mpi_file.hpp"
#include "io/methods/mpi_layouts.hpp"
#include "io/methods/rows.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

AccessStatistics write_independently(const ArrayWrite& work) {
  return write_by_mpi(work, [&](MpiFile& file, FirstFailure& failure, AccessStatistics& statistics) {
    failure.keep([&] {
      std::vector<std::byte> buffer;
      for (std::size_t g = 0; g < work.groups.size(); ++g) {
        const ArrayGroup& group = work.groups[g];
        for (std::size_t a = 0; a < group.arrays.size(); ++a) {
          const core::Stopwatch watch;
          const std::int64_t row_bytes = group.arrays[a].row_bytes();
          buffer.resize(static_cast<std::size_t>(own_rows(group) * row_bytes));
          pack_array(group, a, buffer);
          statistics.copy_s += watch.seconds();
          const std::byte* data = buffer.data();
          for (const Piece& piece : pieces_of(group))
            for_each_chunk(work.offsets[g][a] + piece.first * row_bytes, piece.count * row_bytes,
                           [&](std::int64_t offset, int bytes) {
                             file.write_at(offset, data, bytes, MPI_BYTE, bytes);
                             data += bytes;
                           });
        }
      }
    });
  });
}

// A group in one collective call: packed in the order of the file.
class CombinedGroup {
 public:
  CombinedGroup(const ArrayWrite& work, std::size_t g)
      : group_(work.groups[g]), offsets_(work.offsets[g]), order_(offsets_.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::sort(order_, {}, [&](std::size_t a) { return offsets_[a]; });
    const std::int64_t row_bytes = group_.arrays.front().row_bytes();
    // A call takes the same rows of all arrays.
    parts_ = parts_of(group_, row_bytes,
                      std::max<std::int64_t>(1, most_bytes_a_call / static_cast<std::int64_t>(offsets_.size())));
    calls_ = static_cast<std::size_t>(work.comm.max(static_cast<std::int64_t>(parts_.size())));
  }

  std::size_t calls() const { return calls_; }

  void pack(std::vector<std::byte>& buffer) const {
    const auto bytes = static_cast<std::size_t>(own_rows(group_) * group_.arrays.front().row_bytes());
    buffer.resize(bytes * order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k)
      pack_array(group_, order_[k], std::span(buffer).subspan(k * bytes, bytes));
  }

  void write(MpiFile& file, std::size_t call, std::span<const std::byte> buffer, bool is_packed) const {
    const Part& part = is_packed ? part_or_none(parts_, call) : part_or_none({}, 0);
    const std::int64_t row_bytes = group_.arrays.front().row_bytes(), all = own_rows(group_) * row_bytes;
    ByteRuns in_file, in_memory;
    for (std::size_t k = 0; k < order_.size(); ++k) {
      for (const Rows& rows : part.ranges)
        in_file.add(offsets_[order_[k]] + rows.first * row_bytes, rows.count * row_bytes);
      in_memory.add(static_cast<std::int64_t>(k) * all + part.start * row_bytes, part.count * row_bytes);
    }
    const MpiType view = in_file.type(), memory = in_memory.type();
    file.set_view(view.raw());
    if (parts_.size() <= 1 && in_file.bytes() <= most_bytes_a_call)
      file.write_all(buffer.data(), static_cast<int>(in_file.bytes()), MPI_BYTE, in_file.bytes());
    else
      file.write_all(buffer.data(), in_file.bytes() > 0 ? 1 : 0, memory.raw(), in_file.bytes());
  }

 private:
  const ArrayGroup& group_;
  const std::vector<std::int64_t>& offsets_;
  std::vector<std::size_t> order_;
  std::vector<Part> parts_;
  std::size_t calls_ = 0;
};

}  // namespace

void write_combined(const ArrayWrite& work, std::size_t g, MpiFile& file, FirstFailure& failure,
                    AccessStatistics& statistics) {
  if (work.groups[g].rows == 0) return;
  const core::Stopwatch watch;
  const CombinedGroup group(work, g);
  std::vector<std::byte> buffer;
  const bool is_packed = failure.keep([&] { group.pack(buffer); });
  statistics.copy_s += watch.seconds();
  for (std::size_t call = 0; call < group.calls(); ++call)
    failure.keep([&] { group.write(file, call, buffer, is_packed); });
}

WriteMethod mpiio_independent_method() {
  return {"mpiio-independent",
          "MPI-IO at known places, each rank for itself",
          {Container::hdf5, Container::netcdf, Container::raw},
          write_independently};
}

WriteMethod mpiio_collective_method() {
  return {"mpiio-collective",
          "MPI-IO at known places, all arrays of a group in one collective call",
          {Container::hdf5, Container::netcdf, Container::raw},
          [](const ArrayWrite& work) {
            return write_by_mpi(work, [&](MpiFile& file, FirstFailure& failure, AccessStatistics& statistics) {
              for (std::size_t g = 0; g < work.groups.size(); ++g) write_combined(work, g, file, failure, statistics);
            });
          },
          true};
}

}  // namespace sidestream::io
