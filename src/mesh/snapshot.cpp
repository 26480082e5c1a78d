#include "sidestream/mesh/snapshot.hpp"

#include "mesh/named.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

void Snapshot::add(std::string name, std::string unit, Provider provide) {
  fields_[std::move(name)] = {std::move(unit), std::move(provide), {}};
}

void Snapshot::add(std::string name, std::string unit, std::vector<Field<double>> fields) {
  Entry entry{std::move(unit), {}, {}};
  for (Field<double>& field : fields) entry.levels.push_back(std::make_shared<const Field<double>>(std::move(field)));
  fields_[std::move(name)] = std::move(entry);
}

void Snapshot::add(std::string name, std::string unit, Field<double> field) {
  std::vector<Field<double>> fields;
  fields.push_back(std::move(field));
  add(std::move(name), std::move(unit), std::move(fields));
}

std::vector<std::string> Snapshot::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : fields_) all.push_back(name);
  return all;
}

const Snapshot::Entry& Snapshot::entry(const std::string& name) const {
  return find_named(fields_, name, "field");
}

const std::string& Snapshot::unit(const std::string& name) const {
  return entry(name).unit;
}

const Field<double>& Snapshot::field(const std::string& name, int level) const {
  const Entry& found = entry(name);
  const auto at = static_cast<std::size_t>(level);
  core::require(at < levels.size(), "a snapshot has no such level");
  if (found.levels.size() <= at) found.levels.resize(at + 1);
  if (!found.levels[at]) found.levels[at] = found.provide(level);
  return *found.levels[at];
}

}  // namespace sidestream::mesh
