// Parallel HDF5, array by array: the rows are packed in the type of the file first, so that HDF5 converts nothing
// (which would switch collective transfers off).
#include <algorithm>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/methods/parallel_hdf5.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

class PackedHdf5 {
 public:
  PackedHdf5(const ArrayWrite& work, bool is_collective)
      : work_(work), is_collective_(is_collective), transfer_(transfer_properties(is_collective)) {}

  AccessStatistics operator()() {
    core::Stopwatch watch;
    FileHandle file = open_parallel_hdf5(work_);
    statistics_.files = 1;
    statistics_.metadata_s += watch.seconds();
    for (const ArrayGroup& group : work_.groups) write_group(file, group);
    watch.restart();
    failure_.keep([&] { file.close("H5Fclose"); });
    statistics_.metadata_s += watch.seconds();
    failure_.rethrow();
    return statistics_;
  }

 private:
  void write_group(hid_t file, const ArrayGroup& group) {
    const std::int64_t row_bytes = group.arrays.front().row_bytes();
    if (group.rows * row_bytes == 0) return;
    const std::vector<Part> parts = parts_of(group, row_bytes);
    const auto own_calls = static_cast<std::int64_t>(parts.size());
    const auto calls = static_cast<std::size_t>(is_collective_ ? work_.comm.max(own_calls) : own_calls);
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

  const ArrayWrite& work_;
  bool is_collective_;
  PropertiesHandle transfer_;
  std::vector<std::byte> buffer_;
  FirstFailure failure_;
  AccessStatistics statistics_;
};

AccessStatistics write_packed(const ArrayWrite& work, bool is_collective) {
  const QuietHdf5 quiet;
  return PackedHdf5(work, is_collective)();
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
