#include "sidestream/mesh/snapshot.hpp"

#include <algorithm>
#include <utility>

#include "mesh/named.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::mesh {

namespace {

// Numbers that are not real are refused.
void copy_block(const AnyField& cells, int b, const core::View4<double>& out) {
  const auto copy = [&](const auto& from) {
    core::for_each_cell(cells.table().box(b), [=](int k, int j, int i) { out(k, j, i) = from(k, j, i); });
  };
  if (cells.holds<float>()) return copy(cells.as<float>().view(b));
  copy(cells.as<double>().view(b));
}

}  // namespace

void Snapshot::add(std::string name, std::string unit, Provider provide) {
  fields_[std::move(name)] = {std::move(unit), std::move(provide), {}, {}};
}

void Snapshot::add_computed(std::string name, std::string unit, Kernel fill) {
  fields_[std::move(name)] = {std::move(unit), {}, std::move(fill), {}};
}

void Snapshot::add(std::string name, std::string unit, std::vector<Field<double>> fields) {
  Entry entry{std::move(unit), {}, {}, {}};
  for (Field<double>& field : fields)
    entry.levels.emplace_back(std::make_shared<const Field<double>>(std::move(field)));
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

const Particles* Snapshot::particles() const {
  if (provide_particles_) particles_ = std::exchange(provide_particles_, {})();
  return particles_;
}

const Snapshot::Entry& Snapshot::entry(const std::string& name) const {
  return find_named(fields_, name, "field");
}

const std::string& Snapshot::unit(const std::string& name) const {
  return entry(name).unit;
}

FieldView<const double> Snapshot::field(const std::string& name, int level) const {
  const Entry& found = entry(name);
  AnyField& cells = at_hand(found, level);
  if (!cells || !cells.holds<double>()) cells = std::make_shared<const Field<double>>(filled(found, level));
  return cells.as<double>();
}

void Snapshot::prepare(const std::string& name) const {
  for (int level = 0; level <= finest_level(); ++level) at_hand(entry(name), level);
}

void Snapshot::write(const std::string& name, int level, const Box& box, const core::View4<double>& out) const {
  const Entry& found = entry(name);
  const AnyField& cells = at_hand(found, level);
  if (!cells) return found.fill(level, box, out);
  copy_block(cells, cells.table().block_on(box), out);
}

// The cells, if they are in memory or are given by all ranks together; nothing where a kernel makes them.
AnyField& Snapshot::at_hand(const Entry& entry, int level) const {
  const auto at = static_cast<std::size_t>(level);
  core::require(at < levels.size(), "a snapshot has no such level");
  if (entry.levels.size() <= at) entry.levels.resize(at + 1);
  if (!entry.levels[at] && entry.provide) entry.levels[at] = entry.provide(level);
  return entry.levels[at];
}

Field<double> Snapshot::filled(const Entry& entry, int level) const {
  const auto at = static_cast<std::size_t>(level);
  Field<double> field(levels[at], rank);
  for (int b = 0; b < field.blocks(); ++b)
    if (entry.levels[at])
      copy_block(entry.levels[at], b, field.view(b));
    else
      entry.fill(level, field.box(b), field.view(b));
  return field;
}

}  // namespace sidestream::mesh
