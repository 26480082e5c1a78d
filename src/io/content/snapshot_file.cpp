#include "sidestream/io/snapshot_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "io/content/block_copy.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

bool FileDescription::has_field(const std::string& name) const {
  return std::ranges::any_of(fields, [&](const auto& field) { return field.first == name; });
}

double FileDescription::attribute(const std::string& name) const {
  const auto found = moment.attributes.find(name);
  if (found != moment.attributes.end()) return found->second;
  std::string known;
  for (const auto& [key, value] : moment.attributes) known += (known.empty() ? "" : ", ") + key;
  throw core::Error(fmt::format("the file has no attribute `{}`", name), path,
                    known.empty() ? "it has none" : fmt::format("it has: {}", known));
}

std::optional<double> scale_factor_in_file(double said, double hubble) {
  return hubble > 0.0 || said != 1.0 ? std::optional(said) : std::nullopt;
}

namespace {

nlohmann::json names_and_units(const std::vector<std::pair<std::string, std::string>>& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [name, unit] : entries) list.push_back({{"name", name}, {"units", unit}});
  return list;
}

nlohmann::json as_json(mesh::Int3 n) {
  return {n.x, n.y, n.z};
}

}  // namespace

std::string kind_of(const FileDescription& file) {
  return file.is_stored ? "stored snapshot" : file.is_checkpoint ? "checkpoint" : "plot file";
}

nlohmann::json to_json(const FileDescription& file) {
  nlohmann::json levels = nlohmann::json::array();
  for (const mesh::Layout& level : file.levels)
    levels.push_back({{"cells", as_json(level.domain().extent())}, {"boxes", level.size()}});
  return {{"format", file.format},
          {"path", file.path},
          {"kind", kind_of(file)},
          {"step", file.moment.step},
          {"time", file.moment.time},
          {"scale_factor", file.moment.scale_factor.value_or(1.0)},
          {"omega_m", file.omega_m},
          {"omega_lambda", file.omega_lambda},
          {"hubble", file.hubble},
          {"gamma", file.gamma},
          {"attributes", file.moment.attributes},
          {"length", file.geometry.length},
          {"length_unit", file.length_unit},
          {"origin", file.origin},
          {"periodic", file.geometry.periodic},
          {"levels", levels},
          {"fields", names_and_units(file.fields)},
          {"particles", file.has_particles ? nlohmann::json(file.particles) : nlohmann::json()},
          {"particle_reals", names_and_units(file.particle_reals)}};
}

std::size_t SnapshotFile::field_number(const std::string& name) const {
  std::string known;
  for (std::size_t i = 0; i < description_.fields.size(); ++i) {
    if (description_.fields[i].first == name) return i;
    known += (known.empty() ? "" : ", ") + description_.fields[i].first;
  }
  throw core::Error(fmt::format("there is no field `{}`", name), description_.path,
                    known.empty() ? "it has none" : fmt::format("it has: {}", known));
}

void SnapshotFile::check_level(int level, const mesh::Box& domain) const {
  if (level < 0 || level >= static_cast<int>(description_.levels.size()))
    throw core::Error(fmt::format("there is no level {}", level), description_.path,
                      fmt::format("it has {} of them", description_.levels.size()));
  check_domain(description_.levels[static_cast<std::size_t>(level)].domain(), domain, description_.path);
}

// Copies what `level`, whose cells are `ratio` cells of `into` long, has of `into`. Returns how many cells.
std::int64_t SnapshotFile::copy_level(std::size_t field, int level, mesh::Int3 ratio, mesh::Field<double>& into,
                                      int component) const {
  const mesh::Layout& source = description_.levels[static_cast<std::size_t>(level)];
  std::int64_t copied = 0;
  for (const std::int32_t index : boxes_needed(source, into, ratio)) {
    const std::vector<double> cells = read_box(field, level, index);
    copied += copy_box(source.box(index), cells.data(), into, component, ratio);
  }
  return copied;
}

void SnapshotFile::read_field(const std::string& name, mesh::Field<double>& into, int level, int component) const {
  const std::size_t field = field_number(name);
  check_level(level, into.layout().domain());
  check_covered(copy_level(field, level, {1, 1, 1}, into, component), into, description_.path);
}

void SnapshotFile::read_covering(const std::string& name, mesh::Field<double>& into, int level, int component) const {
  const std::size_t field = field_number(name);
  check_level(level, into.layout().domain());
  for (int source = 0; source <= level; ++source) {
    mesh::Int3 ratio{1, 1, 1};
    for (int finer = source + 1; finer <= level; ++finer)
      for (int axis = 0; axis < 3; ++axis) ratio[axis] *= description_.ratios[static_cast<std::size_t>(finer)][axis];
    const std::int64_t copied = copy_level(field, source, ratio, into, component);
    if (source == 0) check_covered(copied, into, description_.path);
  }
}

void SnapshotFile::verify(int rank, int ranks) const {
  std::int64_t number = 0;
  for (std::size_t field = 0; field < description_.fields.size(); ++field)
    for (std::size_t level = 0; level < description_.levels.size(); ++level)
      for (std::int32_t box = 0; box < description_.levels[level].size(); ++box, ++number)
        if (number % ranks == rank) read_box(field, static_cast<int>(level), box);
  if (description_.has_particles) read_particles(rank, ranks);
}

}  // namespace sidestream::io
