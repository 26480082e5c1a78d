// Parallel HDF5, array by array: the rows are packed in the type of the file first, so that HDF5 converts nothing
// (which would switch collective transfers off).
#include <algorithm>
#include <span>
#include <vector>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/methods/parallel_hdf5.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

class PackedHdf5 : public ParallelHdf5Write {
 public:
  PackedHdf5(const ArrayWrite& work, std::span<const std::size_t> calls, bool is_collective)
      : ParallelHdf5Write(work, is_collective), calls_(calls), is_collective_(is_collective) {}

  AccessStatistics operator()(const ParallelAccess& access) {
    return write_file(access, [&](hid_t file) {
      for (std::size_t g = 0; g < work_.groups.size(); ++g) write_group(file, work_.groups[g], calls_[g]);
    });
  }

 private:
  void write_group(hid_t file, const ArrayGroup& group, std::size_t calls) {
    const std::int64_t row_bytes = group.arrays.front().row_bytes();
    if (group.rows * row_bytes == 0) return;
    const std::vector<Part> parts = parts_of(group, row_bytes);
    buffer_.resize(static_cast<std::size_t>(own_rows(group) * row_bytes));
    for (std::size_t a = 0; a < group.arrays.size(); ++a) {
      const core::Stopwatch watch;
      const bool is_packed = failure_.keep([&] { pack_array(group, a, buffer_); });
      statistics_.copy_s += watch.seconds();
      failure_.keep([&] {
        const DatasetHandle dataset = open_array(file, group.arrays[a], group.rows);
        for (std::size_t p = 0; p < calls; ++p)
          failure_.keep([&] { write_part(dataset, group.arrays[a], is_packed ? part_or_none(parts, p) : Part{}); });
      });
    }
  }

  void write_part(hid_t dataset, const Array& array, const Part& part) {
    const core::Stopwatch watch;
    const SpaceHandle in_file = selected_rows(dataset, part);
    const auto elements = static_cast<hsize_t>(std::max<std::int64_t>(1, part.count * array.row_elements()));
    const SpaceHandle in_memory(H5Screate_simple(1, &elements, nullptr), "H5Screate_simple");
    if (part.count == 0) check_hdf5(H5Sselect_none(in_memory), "H5Sselect_none");
    const std::byte nothing{};
    const std::byte* const data = part.count == 0 ? &nothing : buffer_.data() + part.start * array.row_bytes();
    check_hdf5(H5Dwrite(dataset, hdf5_type(array.type), in_memory, in_file, transfer_, data), "H5Dwrite");
    statistics_.data_s += watch.seconds();
    if (part.count > 0) statistics_.add_write(part.count * array.row_bytes());
    if (is_collective_) require_collective(transfer_, array.name);
  }

  std::span<const std::size_t> calls_;
  bool is_collective_;
  std::vector<std::byte> buffer_;
};

// How often this rank writes to an array of each group; where calls are collective all ranks do as often.
std::vector<std::size_t> calls_of_groups(const ArrayWrite& work, bool is_collective) {
  std::vector<std::size_t> calls;
  for (const ArrayGroup& group : work.groups) {
    const std::int64_t row_bytes = group.arrays.front().row_bytes();
    const auto own = group.rows * row_bytes == 0 ? std::int64_t{0} : std::ssize(parts_of(group, row_bytes));
    calls.push_back(static_cast<std::size_t>(is_collective ? work.comm.max(own) : own));
  }
  return calls;
}

AccessStatistics write_packed(const ArrayWrite& work, bool is_collective) {
  const ParallelAccess access(work);
  const std::vector<std::size_t> calls = calls_of_groups(work, is_collective);
  const QuietHdf5 quiet;
  return PackedHdf5(work, calls, is_collective)(access);
}

}  // namespace

WriteMethod hdf5_independent_method() {
  return {"hdf5-independent",
          "parallel HDF5, each rank and array for itself",
          {Container::hdf5},
          [](const ArrayWrite& work) { return write_packed(work, false); }};
}

WriteMethod hdf5_collective_method() {
  return {"hdf5-collective",
          "parallel HDF5, one collective call an array",
          {Container::hdf5},
          [](const ArrayWrite& work) { return write_packed(work, true); },
          true};
}

}  // namespace sidestream::io
