#include "couple/steering/change.hpp"

#include "couple/steering/box_json.hpp"

namespace sidestream::couple {

using nlohmann::json;

json to_json(const Change& change) {
  json all{{"id", change.id}, {"at", change.at}, {"verb", change.verb}, {"who", change.who}, {"why", change.why}};
  if (!change.name.empty()) all["name"] = change.name;
  if (!change.value.is_null()) all["value"] = change.value;
  if (!change.key.empty()) all["key"] = change.key;
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
          all.value("key", ""),
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
  json all{{"cells", box_json(edit.cells)}, {"operation", edit.operation->name}};
  if (!edit.where.empty()) all["where"] = edit.where;
  if (edit.array)
    all["array"] = {{"name", edit.array.name}, {"checksum", edit.array.checksum}};
  else
    all["value"] = edit.value;
  return all;
}

RegionEdit edit_from(const std::string& quantity, const json& all) {
  RegionEdit edit{quantity, box_from(all.at("cells")), &edit_operations().named(all.value("operation", "set"))};
  edit.where = all.value("where", "");
  if (const auto array = all.find("array"); array != all.end())
    edit.array = {array->at("name").get<std::string>(), array->at("checksum").get<std::string>()};
  else
    edit.value = all.at("value").get<double>();
  return edit;
}

}  // namespace sidestream::couple
