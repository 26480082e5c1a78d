#include "sidestream/io/snapshot_file.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "io/content/block_copy.hpp"
#include "io/content/particle_table.hpp"
#include "io/content/possible_numbers.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/sparse.hpp"

namespace sidestream::io {

void set_cosmology(mesh::Moment& moment, double omega_m, double omega_lambda, double hubble) {
  if (!(hubble > 0.0)) return;
  moment.attributes.insert({{"omega_m", omega_m}, {"omega_lambda", omega_lambda}, {"hubble", hubble}});
}

std::optional<double> scale_factor_in_file(double said, double hubble) {
  return hubble > 0.0 || said != 1.0 ? std::optional(said) : std::nullopt;
}

namespace {

nlohmann::json names_and_units(const auto& entries) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& entry : entries) list.push_back({{"name", entry.name}, {"units", entry.unit}});
  return list;
}

nlohmann::json as_json(mesh::Int3 n) {
  return {n.x, n.y, n.z};
}

nlohmann::json as_json(const std::vector<FileSpecies>& species) {
  nlohmann::json list = nlohmann::json::array();
  for (const FileSpecies& one : species)
    list.push_back({{"name", one.name}, {"particles", one.particles}, {"mass", one.mass}, {"numbers", one.numbers}});
  return list;
}

}  // namespace

std::vector<FileSpecies> species_in(const FileDescription& file) {
  if (!file.has_particles) return {};
  if (!file.species.empty()) return file.species;
  FileSpecies all{mesh::dark_matter, 1.0, file.particles, file.no_particles.mass, {}};
  for (const mesh::ParticleAttribute& attribute : file.no_particles.attributes) all.numbers.push_back(attribute.name);
  return {all};
}

std::string to_string(FileKind kind) {
  static constexpr std::array names{"plot file", "checkpoint", "stored snapshot"};
  return names[static_cast<std::size_t>(kind)];
}

std::string to_string(Seal seal) {
  static constexpr std::array names{"kept", "lost", "none"};
  return names[static_cast<std::size_t>(seal)];
}

nlohmann::json to_json(const FileDescription& file) {
  const auto& attributes = file.state.moment.attributes;
  const auto present = [&](const char* name) { return attributes.contains(name) ? attributes.at(name) : 0.0; };
  const bool is_stored = file.kind == FileKind::stored_snapshot;
  std::vector<mesh::ParticleAttribute> numbers = file.no_particles.attributes;
  if (file.species.size() > 1) std::erase_if(numbers, [](const auto& number) { return number.name == species_column; });
  nlohmann::json levels = nlohmann::json::array();
  for (const mesh::Layout& level : file.state.levels)
    levels.push_back({{"cells", as_json(level.domain().extent())}, {"boxes", level.size()}});
  return {{"format", file.format},
          {"path", file.state.source},
          {"kind", to_string(file.kind)},
          {"seal", to_string(file.seal)},
          {"is_sparse", is_sparse(file)},
          {"step", file.state.moment.step},
          {"time", file.state.moment.time},
          {"scale_factor", file.state.moment.scale_factor.value_or(1.0)},
          {"omega_m", present("omega_m")},
          {"omega_lambda", present("omega_lambda")},
          {"hubble", present("hubble")},
          {"gamma", file.state.gamma},
          {"attributes", is_stored ? attributes : file.state.state_numbers},
          {"length", file.state.geometry.length},
          {"length_unit", file.state.length_unit},
          {"origin", file.origin},
          {"periodic", file.state.geometry.periodic},
          {"levels", levels},
          {"fields", names_and_units(file.fields)},
          {"particles", file.has_particles ? nlohmann::json(file.particles) : nlohmann::json()},
          {"particle_reals", names_and_units(numbers)},
          {"species", as_json(species_in(file))}};
}

std::size_t SnapshotFile::field_number(const std::string& name) const {
  std::string known;
  for (std::size_t i = 0; i < description_.fields.size(); ++i) {
    if (description_.fields[i].name == name) return i;
    known += (known.empty() ? "" : ", ") + description_.fields[i].name;
  }
  throw core::Error(fmt::format("there is no field `{}`", name), description_.state.source,
                    known.empty() ? "it has none" : fmt::format("it has: {}", known));
}

void SnapshotFile::check_level(int level, const mesh::Box& domain) const {
  if (level < 0 || level >= static_cast<int>(description_.state.levels.size()))
    throw core::Error(fmt::format("there is no level {}", level), description_.state.source,
                      fmt::format("it has {} of them", description_.state.levels.size()));
  check_domain(description_.state.levels[static_cast<std::size_t>(level)].domain(), domain, description_.state.source);
}

std::vector<double> SnapshotFile::possible_box(std::size_t field, int level, std::int32_t box) const {
  std::vector<double> cells = read_box(field, level, box);
  if (description_.seal != Seal::kept) require_possible_cells(description_, field, level, box, cells);
  return cells;
}

// How many of `boxes` follow each other in the file, the first and what one read takes, and where they are.
std::pair<std::size_t, std::optional<FilePlace>> SnapshotFile::read_at_once(std::size_t field, int level,
                                                                            std::span<const std::int32_t> boxes) const {
  constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
  std::optional<FilePlace> all = place_of_box(field, level, boxes.front());
  std::size_t count = 1;
  for (; all && count < boxes.size(); ++count) {
    const std::optional<FilePlace> next = place_of_box(field, level, boxes[count]);
    if (!next || next->path != all->path || next->offset != all->offset + all->bytes ||
        all->bytes + next->bytes > most_bytes)
      break;
    all->bytes += next->bytes;
  }
  return {count, all};
}

std::shared_ptr<const core::KnownBytes> SnapshotFile::read_ahead(const FilePlace& place) const {
  const InputFile& file = files_.of(place.path);
  auto known = std::make_shared<core::KnownBytes>();
  known->add(place.path, file.size_bytes());
  known->add(place.path, place.offset, file.bytes(place.offset, place.bytes));
  return known;
}

// Copies what `level`, whose cells are `ratio` cells of `into` long, has of `into`. Returns how many cells.
std::int64_t SnapshotFile::copy_level(std::size_t field, int level, mesh::Int3 ratio, mesh::Field<double>& into,
                                      int component) const {
  const mesh::Layout& source = description_.state.levels[static_cast<std::size_t>(level)];
  const std::vector<std::int32_t> needed = boxes_needed(source, into, ratio);
  std::int64_t copied = 0;
  for (std::size_t first = 0, last = 0; first < needed.size(); first = last) {
    const auto [count, place] = read_at_once(field, level, std::span(needed).subspan(first));
    last = first + count;
    std::optional<core::AnsweringReads> ahead;
    if (count > 1) ahead.emplace(read_ahead(*place));
    for (std::size_t n = first; n < last; ++n) {
      const std::vector<double> cells = possible_box(field, level, needed[n]);
      copied += copy_box(source.box(needed[n]), cells.data(), into, component, ratio);
    }
  }
  return copied;
}

void SnapshotFile::read_field(const std::string& name, mesh::Field<double>& into, int level, int component) const {
  const std::size_t field = field_number(name);
  check_level(level, into.layout().domain());
  check_covered(copy_level(field, level, {1, 1, 1}, into, component), into, description_.state.source);
}

void SnapshotFile::read_covering(const std::string& name, mesh::Field<double>& into, int level, int component) const {
  const std::size_t field = field_number(name);
  check_level(level, into.layout().domain());
  if (is_sparse(description_)) std::ranges::fill(into.all(), std::numeric_limits<double>::quiet_NaN());
  for (int source = 0; source <= level; ++source) {
    mesh::Int3 ratio{1, 1, 1};
    for (int finer = source + 1; finer <= level; ++finer)
      for (int axis = 0; axis < 3; ++axis) ratio[axis] *= description_.ratios[static_cast<std::size_t>(finer)][axis];
    const std::int64_t copied = copy_level(field, source, ratio, into, component);
    if (source == 0 && !is_sparse(description_)) check_covered(copied, into, description_.state.source);
  }
}

std::vector<mesh::Particles> SnapshotFile::read_species(int rank, int ranks) const {
  mesh::Particles table = read_table(rank, ranks);
  if (description_.seal != Seal::kept) require_possible_particles(description_, table);
  return of_species(std::move(table), species_in(description_), description_.state.source);
}

mesh::Particles SnapshotFile::read_particles(int rank, int ranks, const std::string& species) const {
  const std::vector<FileSpecies> all = species_in(description_);
  if (all.empty() && species.empty()) return {};
  if (all.empty())
    throw core::Error(fmt::format("there are no particles, so none of the species `{}`", species),
                      description_.state.source);
  const auto wanted = species.empty() ? all.begin() : std::ranges::find(all, species, &FileSpecies::name);
  if (wanted == all.end()) {
    std::vector<std::string> known;
    for (const FileSpecies& one : all) known.push_back(one.name);
    throw core::unknown_name("species", species, known, description_.state.source);
  }
  return std::move(read_species(rank, ranks)[static_cast<std::size_t>(wanted - all.begin())]);
}

void SnapshotFile::verify(int rank, int ranks) const {
  std::int64_t number = 0;
  for (std::size_t field = 0; field < description_.fields.size(); ++field)
    for (std::size_t level = 0; level < description_.state.levels.size(); ++level)
      for (std::int32_t box = 0; box < description_.state.levels[level].size(); ++box, ++number)
        if (number % ranks == rank) possible_box(field, static_cast<int>(level), box);
  if (description_.has_particles) read_species(rank, ranks);
}

}  // namespace sidestream::io
