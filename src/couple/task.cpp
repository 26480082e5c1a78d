#include "sidestream/couple/task.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "couple/entries.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

const TransportEntry& way_of(const Task& task) {
  return task.isolation ? isolated() : *task.transport;
}

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

std::vector<std::string> species_to_send(const Task& task, const std::vector<std::string>& known) {
  std::vector<bool> is_read(known.size(), false);
  for (const std::string& name : task.analysis->species()) {
    if (name.empty() && known.empty()) continue;
    const auto found = name.empty() ? known.begin() : std::ranges::find(known, name);
    if (found == known.end())
      throw core::Error(
          fmt::format("the task `{}` reads the particles of the species `{}`, which there is not", task.name, name),
          place_of(task, name),
          known.empty() ? "there are no particles" : fmt::format("there are: {}", fmt::join(known, ", ")));
    is_read[static_cast<std::size_t>(found - known.begin())] = true;
  }
  std::vector<std::string> all;
  for (std::size_t s = 0; s < known.size(); ++s)
    if (is_read[s]) all.push_back(known[s]);
  return all;
}

std::string place_of(const Task& task, const std::string& value) {
  const auto says = [&](const core::Node& node) { return node.is_text() && node.text() == value; };
  for (const auto& [key, node] : task.table.members())
    if (says(node) || (node.is_array() && std::ranges::any_of(node.elements(), says))) return node.where();
  return task.table.where();
}

}  // namespace sidestream::couple
