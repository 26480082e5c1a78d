#include "couple/steering/box_json.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

constexpr const char* place_of_cells = "key `edit.cells`";
constexpr const char* hint = "write for example [[0, 0, 0], [8, 8, 8]]: the upper corner is outside";

json numbers(mesh::Int3 cell) {
  return {cell.x, cell.y, cell.z};
}

mesh::Int3 cell_from(const json& array) {
  if (!array.is_array() || array.size() != 3)
    throw core::Error("the corner of a box has three whole numbers", place_of_cells, hint);
  mesh::Int3 cell;
  for (int axis = 0; axis < 3; ++axis) {
    const json& number = array[static_cast<std::size_t>(axis)];
    const auto index = number.is_number_integer() ? number.get<std::int64_t>() : -1;
    if (index < 0 || index > std::numeric_limits<std::int32_t>::max())
      throw core::Error(fmt::format("`{}` is no number of a cell", number.dump()), place_of_cells);
    cell[axis] = static_cast<std::int32_t>(index);
  }
  return cell;
}

}  // namespace

json box_json(const mesh::Box& box) {
  return {numbers(box.lo), numbers(box.hi)};
}

mesh::Box box_from(const json& corners) {
  if (!corners.is_array() || corners.size() != 2) throw core::Error("a box has two corners", place_of_cells, hint);
  return {cell_from(corners[0]), cell_from(corners[1])};
}

std::int64_t array_number(const json& array) {
  if (!array.is_number_integer())
    throw core::Error(fmt::format("`{}` is no number of an array", array.dump()), "key `array`",
                      "give the one that was answered when it was begun");
  return array.get<std::int64_t>();
}

void require_inside(const mesh::Box& cells, const mesh::Box& domain) {
  if (cells.is_empty() || !domain.contains(cells))
    throw core::Error(fmt::format("the box {} is empty, or not inside of the domain, {}", mesh::to_string(cells),
                                  mesh::to_string(domain)),
                      place_of_cells, "give cells of level 0; the upper corner is outside of the box");
}

}  // namespace sidestream::couple
