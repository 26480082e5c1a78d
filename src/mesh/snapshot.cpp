#include "sidestream/mesh/snapshot.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

template <typename Map>
const typename Map::mapped_type& find_named(const Map& map, const std::string& name, const char* noun) {
  if (const auto found = map.find(name); found != map.end()) return found->second;
  std::string known;
  for (const auto& [key, value] : map) known += (known.empty() ? "" : ", ") + key;
  throw core::Error(fmt::format("the snapshot has no {} `{}`", noun, name), "", fmt::format("it has: {}", known));
}

}  // namespace

void Snapshot::add(std::string name, std::string unit, Provider provide) {
  fields_[std::move(name)] = {std::move(unit), std::move(provide), nullptr};
}

void Snapshot::add(std::string name, std::string unit, Field<double> field) {
  auto shared = std::make_shared<const Field<double>>(std::move(field));
  fields_[std::move(name)] = {std::move(unit), {}, std::move(shared)};
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

const Field<double>& Snapshot::field(const std::string& name) const {
  const Entry& found = entry(name);
  if (!found.field) found.field = found.provide();
  return *found.field;
}

double Snapshot::attribute(const std::string& name) const {
  return find_named(attributes, name, "attribute");
}

}  // namespace sidestream::mesh
