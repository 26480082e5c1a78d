#include "io/methods/in_place.hpp"

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::io {

bool is_in_place(const ArrayWrite& work, const ArrayGroup& group) {
  const bool has_fields =
      group.in_place.size() == group.arrays.size() && std::ranges::all_of(group.in_place, [](const InPlace& place) {
        return place.field.table() && lies_together(place.field);
      });
  return work.comm.all(work.container != Container::netcdf && (has_fields || group.runs.empty())) &&
         work.comm.max(std::int64_t{has_fields ? 1 : 0}) == 1;
}

void check_in_place(const ArrayGroup& group, std::size_t array) {
  const InPlace& place = group.in_place[array];
  const std::int64_t row_elements = group.arrays[array].row_elements();
  const auto components = static_cast<std::int64_t>(place.components.size());
  bool is_right = group.arrays[array].type == ElementType::float64 &&
                  static_cast<std::size_t>(place.field.blocks()) >= group.runs.size();
  for (const int component : place.components)
    is_right = is_right && component >= 0 && component < place.field.components();
  for (std::size_t r = 0; is_right && r < group.runs.size(); ++r)
    is_right = group.runs[r].count == 0 ||
               group.runs[r].count * row_elements == place.field.box(static_cast<int>(r)).volume() * components;
  if (!is_right) throw core::Error("the rows of `" + group.arrays[array].name + "` are not the cells of its field");
}

bool has_equal_blocks(const mesh::FieldView<const double>& field) {
  for (int b = 1; b < field.blocks(); ++b)
    if (!(field.box(b).extent() == field.box(0).extent())) return false;
  return true;
}

const double* start_of(const mesh::FieldView<const double>& field, int b) {
  const mesh::Int3 first = field.box(b).lo - field.ghosts().layers;
  return &field.view(b)(0, first.z, first.y, first.x);
}

bool lies_together(const mesh::FieldView<const double>& field) {
  for (int b = 0; b < field.blocks(); ++b) {
    const mesh::Int3 ghost = field.ghosts().layers, grown = field.box(b).extent() + ghost + ghost;
    const auto view = field.view(b);
    if (view.stride_y() != grown.x || view.stride_z() != std::ptrdiff_t{grown.x} * grown.y ||
        view.stride_component() != grown.product())
      return false;
    if (b + 1 < field.blocks() && start_of(field, b + 1) - start_of(field, b) != grown.product() * field.components())
      return false;
  }
  return true;
}

}  // namespace sidestream::io
