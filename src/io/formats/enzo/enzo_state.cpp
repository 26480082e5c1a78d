#include "io/formats/enzo/enzo_state.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <set>

#include "io/formats/enzo/enzo_species.hpp"
#include "io/formats/vocabulary.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

ElementType element_type(Precision precision) {
  return precision == Precision::single_precision ? ElementType::float32 : ElementType::float64;
}

// A name that HDF5 takes for one dataset and that no other has.
std::string dataset_name(std::string name, std::set<std::string>& taken) {
  std::ranges::replace(name, '/', '_');
  if (name.empty() || name == ".") name = "unnamed";
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

void add_positions(EnzoTables& tables, std::set<std::string>& taken) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    tables.columns.push_back({dataset_name(fmt::format("particle_position_{}", "xyz"[axis]), taken),
                              tables.particle_type, EnzoColumn::Holds::position, axis, tables.length_factor});
}

// Enzo's particle_mass is mass per volume of a cell: the numbers themselves stand beside it where they must come back
// to the bit.
void add_reals(EnzoTables& tables, const FileContent& content, const EnzoUnits& units, std::set<std::string>& taken) {
  using Holds = EnzoColumn::Holds;
  for (std::size_t i = 0; i < content.particles.numbers.size(); ++i) {
    const mesh::ParticleNumber& real = content.particles.numbers[i];
    const bool is_mass = real.name == "mass";
    if (is_mass)
      tables.columns.push_back({"particle_mass", tables.particle_type, Holds::mass_density, i, units.mass()});
    if (real.attribute.empty()) {
      tables.reals.push_back({"", 1.0, false, real.factor});
    } else if (is_mass && units.is_comoving) {
      tables.reals.push_back({"particle_mass", units.mass(), true, 0.0});
    } else {
      const double factor = units.factor_of(real.name, real.unit);
      tables.reals.push_back({dataset_name(enzo_particle_name(real.name), taken), factor, false, 0.0});
      tables.columns.push_back({tables.reals.back().dataset, tables.particle_type, Holds::real, i, factor});
    }
  }
}

void add_columns(EnzoTables& tables, const FileContent& content, const EnzoUnits& units, std::set<std::string>& taken) {
  using Holds = EnzoColumn::Holds;
  for (const char* kept : {"particle_index", "particle_type", "particle_mass"}) taken.insert(kept);
  add_positions(tables, taken);
  add_reals(tables, content, units, taken);
  const bool has_mass =
      std::ranges::any_of(content.particles.numbers, [](const auto& real) { return real.name == "mass"; });
  if (!has_mass && content.particles.levels.front()->mass > 0.0)
    tables.columns.push_back(
        {"particle_mass", tables.particle_type, Holds::mass_density, content.particles.numbers.size(), units.mass()});
  tables.columns.push_back({"particle_index", ElementType::int64, Holds::id, 0, 1.0});
  tables.columns.push_back({"particle_type", ElementType::int32, Holds::kind, 0, 1.0});
}

}  // namespace

std::string enzo_particle_name(const std::string& name) {
  if (name.size() == 4 && name.ends_with("vel") && 'x' <= name[0] && name[0] <= 'z')
    return fmt::format("particle_velocity_{}", name[0]);
  if (name == "mass") return "particle_total_mass";
  return name.starts_with("particle_") || is_enzo_star_attribute(name) ? name : "particle_" + name;
}

EnzoTables enzo_tables(const FileContent& content, const EnzoUnits& units) {
  EnzoTables tables;
  tables.particle_type = element_type(content.particle_precision);
  tables.length_factor = units.length;
  std::set<std::string> taken;
  for (const mesh::Quantity& field : content.fields())
    tables.fields.push_back({dataset_name(enzo_name(field.name), taken), element_type(content.precision),
                             units.factor_of(field.name, field.unit)});
  if (!content.particles.levels.empty()) add_columns(tables, content, units, taken);
  return tables;
}

nlohmann::json to_json(const EnzoTables& tables) {
  nlohmann::json fields = nlohmann::json::array(), columns = nlohmann::json::array(), reals = nlohmann::json::array();
  for (const EnzoField& field : tables.fields)
    fields.push_back({field.dataset, static_cast<int>(field.type), field.factor});
  for (const EnzoColumn& column : tables.columns) columns.push_back({column.dataset, static_cast<int>(column.type)});
  for (const EnzoReal& real : tables.reals)
    reals.push_back({real.dataset, real.factor, real.is_mass_density, real.value});
  return {{"fields", fields},
          {"columns", columns},
          {"reals", reals},
          {"particle_type", static_cast<int>(tables.particle_type)},
          {"length_factor", tables.length_factor}};
}

namespace {

ElementType element_type_of(const nlohmann::json& json, const std::string& where) {
  const int number = json.get<int>();
  if (number < 0 || number > static_cast<int>(ElementType::int64))
    throw core::Error("an unknown type of numbers", where, "the file is damaged");
  return static_cast<ElementType>(number);
}

}  // namespace

EnzoTables enzo_tables_of(const nlohmann::json& json, const std::string& where) {
  EnzoTables tables;
  for (const auto& field : json.at("fields"))
    tables.fields.push_back(
        {field.at(0).get<std::string>(), element_type_of(field.at(1), where), field.at(2).get<double>()});
  for (const auto& column : json.at("columns"))
    tables.columns.push_back(
        {column.at(0).get<std::string>(), element_type_of(column.at(1), where), EnzoColumn::Holds::real, 0, 1.0});
  for (const auto& real : json.at("reals"))
    tables.reals.push_back(
        {real.at(0).get<std::string>(), real.at(1).get<double>(), real.at(2).get<bool>(), real.at(3).get<double>()});
  tables.particle_type = element_type_of(json.at("particle_type"), where);
  tables.length_factor = json.at("length_factor").get<double>();
  return tables;
}

EnzoPlace enzo_place(const std::vector<mesh::Layout>& levels, std::int64_t block) {
  int level = 0;
  while (block >= levels[static_cast<std::size_t>(level)].size())
    block -= levels[static_cast<std::size_t>(level++)].size();
  return {level, static_cast<std::int32_t>(block)};
}

std::string enzo_group_name(std::int64_t number) {
  return fmt::format("Grid{:08}", number);
}

namespace {

std::vector<EnzoBlock> own_blocks(const FileContent& content, int rank) {
  std::vector<EnzoBlock> own;
  const std::vector<std::int64_t> starts = block_starts(content);
  for (std::size_t level = 0; level < content.state.levels.size(); ++level) {
    int local = 0;
    for (const std::int32_t box : content.state.levels[level].boxes_of(rank))
      own.push_back({starts[level] + box, static_cast<int>(level), box, local++, {}});
  }
  return own;
}

// Each particle to the block of this rank that holds it.
void deal_particles(const FileContent& content, int rank, std::vector<EnzoBlock>& own) {
  std::size_t begin = 0;
  for (std::size_t level = 0; level < content.particles.levels.size(); ++level) {
    const mesh::Layout& layout = content.state.levels[level];
    const auto boxes = layout.boxes_of(rank);
    const mesh::Geometry geometry = content.state.geometry.refined(static_cast<int>(level));
    const mesh::Particles& particles = *content.particles.levels[level];
    for (std::size_t p = 0; p < particles.size(); ++p) {
      const std::array<double, 3> position{particles.position[0][p], particles.position[1][p],
                                           particles.position[2][p]};
      const std::int32_t box = layout.find(mesh::cell_of(geometry, position));
      if (box < 0 || layout.owner(box) != rank)
        throw core::Error(fmt::format("particle {} lies in no box of its rank on level {}", particles.id[p], level));
      const auto local = std::ranges::lower_bound(boxes, box) - boxes.begin();
      own[begin + static_cast<std::size_t>(local)].particles.push_back(static_cast<std::int32_t>(p));
    }
    for (std::size_t b = 0; b < boxes.size(); ++b)
      std::ranges::stable_sort(own[begin + b].particles, {},
                               [&](std::int32_t p) { return particles.id[static_cast<std::size_t>(p)]; });
    begin += boxes.size();
  }
}

struct Count {
  std::int64_t block, particles;
};

}  // namespace

EnzoState enzo_state(const comm::Communicator& comm, const FileContent& content) {
  EnzoState state{content, {}, {}, {}, {}, {}};
  std::vector<Count> counts;
  comm.agree_on([&] {
    if (is_enzo_cosmology(content)) state.units = enzo_cosmology(content).units();
    state.tables = enzo_tables(content, state.units);
    state.tree = enzo_tree(content.state.levels);
    state.own = own_blocks(content, comm.rank());
    deal_particles(content, comm.rank(), state.own);
    for (const EnzoBlock& block : state.own)
      if (!block.particles.empty()) counts.push_back({block.block, static_cast<std::int64_t>(block.particles.size())});
  });
  state.particles.resize(state.tree.number.size());
  for (const Count& count : comm.all_gather(std::span<const Count>(counts)))
    state.particles[static_cast<std::size_t>(count.block)] = count.particles;
  return state;
}

}  // namespace sidestream::io
