#include "sidestream/couple/task.hpp"

#include <algorithm>

namespace sidestream::couple {

std::vector<FieldRequest> requested_fields(const Task& task) {
  std::vector<FieldRequest> all;
  for (const std::string& name : task.analysis->fields())
    all.push_back(name.ends_with('?') ? FieldRequest{name.substr(0, name.size() - 1), true}
                                      : FieldRequest{name, false});
  return all;
}

std::vector<std::string> fields_to_send(const Task& task, const std::vector<mesh::Quantity>& known) {
  std::vector<std::string> all;
  for (const FieldRequest& field : requested_fields(task)) {
    const auto found = std::ranges::find(known, field.name, &mesh::Quantity::name);
    if (found != known.end() && !(field.is_optional && found->is_of_parts)) all.push_back(field.name);
  }
  return all;
}

std::string place_of(const Task& task, const std::string& value) {
  const auto says = [&](const core::Node& node) { return node.is_text() && node.text() == value; };
  for (const auto& [key, node] : task.table.members())
    if (says(node) || (node.is_array() && std::ranges::any_of(node.elements(), says))) return node.where();
  return task.table.where();
}

}  // namespace sidestream::couple
