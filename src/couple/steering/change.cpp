#include <fmt/format.h>

#include <limits>

#include "sidestream/core/error.hpp"
#include "sidestream/couple/steering_desk.hpp"

namespace sidestream::couple {

using nlohmann::json;

namespace {

json numbers(mesh::Int3 cell) {
  return {cell.x, cell.y, cell.z};
}

mesh::Int3 cell_from(const json& array) {
  if (!array.is_array() || array.size() != 3)
    throw core::Error("the corner of a box has three whole numbers", "key `edit.cells`",
                      "write for example [[0, 0, 0], [8, 8, 8]]: the upper corner is outside");
  mesh::Int3 cell;
  for (int axis = 0; axis < 3; ++axis) {
    const json& number = array[static_cast<std::size_t>(axis)];
    const auto index = number.is_number_integer() ? number.get<std::int64_t>() : -1;
    if (index < 0 || index > std::numeric_limits<std::int32_t>::max())
      throw core::Error(fmt::format("`{}` is no number of a cell", number.dump()), "key `edit.cells`");
    cell[axis] = static_cast<std::int32_t>(index);
  }
  return cell;
}

}  // namespace

json to_json(const Change& change) {
  json all{{"id", change.id}, {"at", change.at}, {"verb", change.verb}, {"who", change.who}, {"why", change.why}};
  if (!change.name.empty()) all["name"] = change.name;
  if (!change.value.is_null()) all["value"] = change.value;
  return all;
}

Change change_from(const json& all) {
  return {all.at("id").get<std::int64_t>(),
          all.at("at").get<std::int64_t>(),
          all.at("verb").get<std::string>(),
          all.value("name", ""),
          all.value("value", json()),
          all.value("who", ""),
          all.value("why", ""),
          false};
}

const core::Registry<EditOperation>& edit_operations() {
  static const core::Registry<EditOperation> all(
      {"edits", "edit", "what `sidestream steer RUN edit` does with the cells of a box"},
      {{"set", "the value takes the place of what is there", [](double, double value) { return value; }},
       {"add", "the value is added", [](double present, double value) { return present + value; }},
       {"multiply", "what is there is multiplied by the value",
        [](double present, double value) { return present * value; }}});
  return all;
}

json to_json(const RegionEdit& edit) {
  return {{"cells", {numbers(edit.cells.lo), numbers(edit.cells.hi)}},
          {"operation", edit.operation->name},
          {"value", edit.value}};
}

RegionEdit edit_from(const std::string& quantity, const json& all) {
  const json& cells = all.at("cells");
  if (!cells.is_array() || cells.size() != 2)
    throw core::Error("a box has two corners", "key `edit.cells`", "write for example [[0, 0, 0], [8, 8, 8]]");
  return {quantity,
          {cell_from(cells[0]), cell_from(cells[1])},
          &edit_operations().named(all.value("operation", "set")),
          all.at("value").get<double>(),
          nullptr};
}

}  // namespace sidestream::couple
