// Parallel HDF5, collective, with a selection in memory that leaves the ghost cells out: what a user writes who does
// not pack. For comparison.
#include <algorithm>

#include "io/methods/in_place.hpp"
#include "io/methods/parallel_hdf5.hpp"
#include "io/write_methods.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/timer.hpp"

namespace sidestream::io {

namespace {

using Cells = mesh::FieldView<const double>;

// HDF5 goes through a selection in memory in ascending order, so the blocks must be alike and the components ascend.
bool can_select(const ArrayGroup& group) {
  return std::ranges::all_of(group.in_place, [](const InPlace& place) {
    return !place.field.table() ||
           (has_equal_blocks(place.field) && std::ranges::is_sorted(place.components, std::ranges::less_equal{}));
  });
}

// The field as (block, component, z, y, x), of which the owned cells of components of the first blocks are selected.
SpaceHandle selected_cells(const ArrayGroup& group, const InPlace& place) {
  const Cells& field = place.field;
  const mesh::Int3 owned = field.box(0).extent();
  const mesh::Int3 ghosts = field.ghosts().layers, grown = owned + ghosts + ghosts;
  const auto length = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  const hsize_t all[5] = {length(field.blocks()), length(field.components()), length(grown.z), length(grown.y),
                          length(grown.x)};
  SpaceHandle space(H5Screate_simple(5, all, nullptr), "H5Screate_simple");
  check_hdf5(H5Sselect_none(space), "H5Sselect_none");
  H5S_seloper_t operation = H5S_SELECT_SET;
  for (std::size_t first = 0, last = 0; first < group.runs.size(); first = last) {
    while (last < group.runs.size() && (group.runs[last].count == 0) == (group.runs[first].count == 0)) ++last;
    if (group.runs[first].count == 0) continue;
    for (const int component : place.components) {
      const hsize_t start[5] = {first, length(component), length(ghosts.z), length(ghosts.y), length(ghosts.x)};
      const hsize_t count[5] = {last - first, 1, length(owned.z), length(owned.y), length(owned.x)};
      check_hdf5(H5Sselect_hyperslab(space, operation, start, nullptr, count, nullptr), "H5Sselect_hyperslab");
      operation = H5S_SELECT_OR;
    }
  }
  return space;
}

Part all_rows(const ArrayGroup& group) {
  Part part;
  for (const Piece& piece : pieces_of(group)) {
    part.ranges.push_back({piece.first, piece.count});
    part.count += piece.count;
  }
  return part;
}

class StridedHdf5 : public ParallelHdf5Write {
 public:
  explicit StridedHdf5(const ArrayWrite& work) : ParallelHdf5Write(work, true) {}

  AccessStatistics operator()(const ParallelAccess& access, std::span<const std::size_t> groups) {
    return write_file(access, [&](hid_t file) {
      for (const std::size_t g : groups) {
        const ArrayGroup& group = work_.groups[g];
        for (std::size_t a = 0; a < group.arrays.size(); ++a) failure_.keep([&] { write_array(file, group, a); });
      }
    });
  }

 private:
  void write_array(hid_t file, const ArrayGroup& group, std::size_t a) {
    const core::Stopwatch watch;
    const Array& array = group.arrays[a];
    Part part = all_rows(group);
    if (part.count > 0 && !failure_.keep([&] { check_in_place(group, a); })) part = {};
    const DatasetHandle dataset = open_array(file, array, group.rows);
    const SpaceHandle in_file = selected_rows(dataset, part);
    const hsize_t one = 1;
    const SpaceHandle in_memory = part.count > 0 ? selected_cells(group, group.in_place[a])
                                                 : SpaceHandle(H5Screate_simple(1, &one, nullptr), "H5Screate_simple");
    if (part.count == 0) check_hdf5(H5Sselect_none(in_memory), "H5Sselect_none");
    const double nothing = 0;
    const double* const data = part.count > 0 ? start_of(group.in_place[a].field, 0) : &nothing;
    check_hdf5(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, in_memory, in_file, transfer_, data), "H5Dwrite");
    statistics_.data_s += watch.seconds();
    if (part.count > 0) statistics_.add_write(part.count * array.row_bytes());
    require_collective(transfer_, array.name);
  }
};

AccessStatistics write_strided(const ArrayWrite& work) {
  std::vector<std::size_t> in_place;
  ArrayWrite rest = work;
  std::vector<ArrayGroup> packed_groups;
  rest.offsets.clear();
  for (std::size_t g = 0; g < work.groups.size(); ++g) {
    const ArrayGroup& group = work.groups[g];
    const bool is_strided = is_in_place(work, group) && work.comm.all(can_select(group));
    if (group.rows * group.arrays.front().row_bytes() == 0) continue;
    if (is_strided) {
      in_place.push_back(g);
    } else {
      packed_groups.push_back(group);
      rest.offsets.push_back(work.offsets[g]);
    }
  }
  AccessStatistics statistics;
  work.comm.agree_on([&] {
    if (in_place.empty()) return;
    const ParallelAccess access(work);
    const QuietHdf5 quiet;
    statistics = StridedHdf5(work)(access, in_place);
  });
  rest.groups = packed_groups;
  if (!packed_groups.empty()) statistics += hdf5_collective_method().write(rest);
  return statistics;
}

}  // namespace

WriteMethod hdf5_strided_method() {
  return {"hdf5-strided",
          "parallel HDF5, collective, by selections of the blocks in memory; what is not in blocks is packed",
          {Container::hdf5},
          write_strided,
          true};
}

}  // namespace sidestream::io
