#include "sims/host/host_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sims/host/element_types.hpp"

namespace sidestream::sims {

namespace {

using mesh::BlockTable;
using mesh::Box;

constexpr std::array<std::string_view, 3> names_of_axes{"x", "y", "z"};
// What results and events tell of a step by themselves.
constexpr std::array<std::string_view, 13> names_in_results{
    "step",       "time",       "redshift", "scale_factor", "progress", "event", "analysis", "task",
    "parameters", "fft_engine", "z",        "wall_s",       "left_s"};

std::vector<Saying> sayings_of(const HostMesh& mesh) {
  const mesh::Int3 n = mesh.geometry.domain.extent();
  const auto& [x, y, z] = mesh.geometry.length;
  const auto& periodic = mesh.geometry.periodic;
  return {{"the number of cells of the domain", fmt::format("{} x {} x {}", n.x, n.y, n.z)},
          {"the size of the domain", fmt::format("{} x {} x {}", x, y, z)},
          {"which axes are periodic", fmt::format("{} {} {}", periodic[0], periodic[1], periodic[2])},
          {"the unit of length", "\"" + mesh.length_unit + "\""}};
}

// Of a number in a checkpoint, which has to be whole, and within the type, for whole types.
template <typename T>
T taken_as(double value, const HostField& field) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double beyond = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
    if (!(value >= static_cast<double>(std::numeric_limits<T>::min()) && value < beyond && std::trunc(value) == value))
      throw core::Error(fmt::format("the checkpoint has the number {}, which no {} is", value, to_string(field.type)),
                        "field `" + field.quantity.name + "`", "give an array of the type that it had then");
  }
  return static_cast<T>(value);
}

// Files are read in the words of analyses.
std::string name_in(const mesh::Snapshot& state, const HostField& field) {
  const std::string& own = field.quantity.name;
  return state.has(own) ? own : io::quantity_of(own);
}

mesh::Particles selected(const mesh::Particles& from, std::span<const std::size_t> which) {
  mesh::Particles some;
  some.mass = from.mass;
  const auto take = [&](const auto& values, auto& to) {
    to.reserve(which.size());
    for (const std::size_t p : which) to.push_back(values[p]);
  };
  take(from.id, some.id);
  for (std::size_t axis = 0; axis < 3; ++axis) take(from.position[axis], some.position[axis]);
  for (const mesh::ParticleAttribute& attribute : from.attributes)
    take(attribute.values, some.attributes.emplace_back(attribute.name, attribute.unit).values);
  return some;
}

void require_places(const HostSpecies& species) {
  for (std::size_t n = 0; n < species.count; ++n)
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (const double x = species.position[axis][n]; !std::isfinite(x))
        throw core::Error(
            fmt::format("particle {}, of the id {}, is at {} = {}", n, species.id[n], names_of_axes[axis], x),
            fmt::format("species `{}`", species.name),
            "look at the step and at the forces; `sidestream conformance` counts such particles");
}

template <typename T>
T& cell_of(const BlockTable::Block& block, int k, int j, int i) {
  return static_cast<T*>(block.origin)[k * block.stride_z + j * block.stride_y + i * block.stride_x];
}

}  // namespace

void HostState::set_mesh(const HostMesh& mesh) {
  compute_.agree_on([&] {
    require_domain(mesh);
    require_unit(mesh.length_unit, "the mesh");
  });
  const std::vector<Saying> said = sayings_of(mesh);
  require_alike(compute_, {digest_of(said)}, [&] { return said; });
  HostLevels levels = levels_of(compute_, mesh);
  mesh_ = mesh;
  mesh_.length_unit = io::canonical_unit(mesh.length_unit);
  levels_ = std::move(levels);
  fields_.clear();
  places_.clear();
  digest_.reset();
}

void HostState::set_field(HostField field) {
  const std::string& name = field.quantity.name;
  const std::string where = fmt::format("field `{}`", name);
  require_name(name, "a field", "temperature");
  field.quantity.unit = io::canonical_unit(field.quantity.unit);
  require_unit(field.quantity.unit, where);
  if (std::ranges::find(names_of_axes, name) != names_of_axes.end())
    throw core::Error("a field has the name of an axis", where, "choose another name, such as `" + name + "_velocity`");
  if (!has_mesh()) throw core::Error("a field without a mesh", where, "say first what the mesh is");
  if (field.blocks.size() != mesh_.blocks.size())
    throw core::Error(fmt::format("{} pieces of memory for {} blocks", field.blocks.size(), mesh_.blocks.size()), where,
                      "give one for each block of this rank, in the order of the mesh");
  for (const HostMemory& memory : field.blocks)
    if (memory.first == nullptr) throw core::Error("a block of a field has no memory", where, "give where it lies");
  with_type(field.type, [](auto*) {});
  for (std::size_t n = 0; n < field.blocks.size(); ++n)
    require_reach(field.blocks[n], mesh_.blocks[n].box.grown(mesh_.ghosts.layers).extent(), size_bytes(field.type),
                  fmt::format("{}, block {}", where, n));
  for (const HostField& other : fields_)
    if (other.quantity.name != name && io::quantity_of(other.quantity.name) == io::quantity_of(name))
      throw core::Error("two fields of one quantity", where + fmt::format(" and `{}`", other.quantity.name),
                        "files know both by one name: give one of them another");
  if (is_closed_ && !names_.contains(name))
    throw core::Error("a field that the run has not begun with", where, "give all fields before the run begins");
  digest_.reset();
  const auto [known, is_new] = places_.try_emplace(name, fields_.size());
  if (is_new)
    fields_.push_back(std::move(field));
  else
    fields_[known->second] = std::move(field);
}

void HostState::set_species(HostSpecies species) {
  const std::string where = fmt::format("species `{}`", species.name);
  require_name(species.name, "a kind of particles", "dark_matter");
  for (HostSpecies::Attribute& attribute : species.attributes) {
    attribute.unit = io::canonical_unit(attribute.unit);
    require_name(attribute.name, "an attribute of `" + species.name + "`", "velocity_x");
    require_unit(attribute.unit, "attribute `" + attribute.name + "`");
    const auto alike = std::ranges::count(species.attributes, attribute.name, &HostSpecies::Attribute::name);
    if (attribute.name == "id" || std::ranges::find(names_of_axes, attribute.name) != names_of_axes.end() || alike > 1)
      throw core::Error(fmt::format("particles have two numbers `{}`", attribute.name), where,
                        "give attributes names of their own, other than id, x, y and z");
  }
  const auto is_missing = [](const double* numbers) { return numbers == nullptr; };
  if (species.count > 0 && (species.id == nullptr || std::ranges::any_of(species.position, is_missing) ||
                            std::ranges::any_of(species.attributes, is_missing, &HostSpecies::Attribute::values)))
    throw core::Error("numbers of particles have no memory", where, "give ids, positions and every attribute");
  if (!std::isfinite(species.mass) || species.mass < 0.0)
    throw core::Error(fmt::format("particles have the mass {}", species.mass), where, "give 0 where they have none");
  const auto known = std::ranges::find(species_, species.name, &HostSpecies::name);
  if (is_closed_ && known == species_.end())
    throw core::Error("particles that the run has not begun with", where, "give all kinds before the run begins");
  digest_.reset();
  if (known != species_.end())
    *known = std::move(species);
  else
    species_.push_back(std::move(species));
}

void HostState::set_number(const std::string& name, double value) {
  require_name(name, "a number", "viscosity");
  if (std::ranges::find(names_in_results, name) != names_in_results.end())
    throw core::Error("a number has the name of what results have of their own", "`" + name + "`",
                      "choose another one");
  if (!std::isfinite(value))
    throw core::Error(fmt::format("the number is {}", value), "`" + name + "`", "look for what made it so");
  mesh::Moment after = moment;
  after.attributes[name] = value;
  if (const auto bad = io::impossible_number(after))
    throw core::Error(bad->what, "`" + name + "`", "give it in the unit that it has there, or by another name");
  moment.attributes[name] = value;
}

void HostState::close_list() {
  is_closed_ = true;
  for (const HostField& field : fields_) names_.insert(field.quantity.name);
}

void HostState::require_fields() const {
  if (fields_.size() == names_.size()) return;
  for (const std::string& name : names_)
    if (!places_.contains(name))
      throw core::Error("the mesh was said anew, and a field was not", fmt::format("field `{}`", name),
                        "say again where each field lies, after the mesh");
}

void HostState::require_known_convention() const {
  if (mesh_.length_unit != "cm" || (!moment.scale_factor && !moment.attributes.contains("hubble"))) return;
  throw core::Error(
      "a universe that expands has its lengths in cm", "the mesh",
      "give comoving Mpc or kpc, and proper velocities: files in cm have FLASH's comoving units, in which "
      "velocities are v/a and temperatures T/a^2");
}

std::vector<Saying> HostState::sayings() const {
  std::vector<Saying> all;
  for (std::size_t n = 0; n < fields_.size(); ++n) {
    const HostField& field = fields_[n];
    all.push_back({fmt::format("field {}", n + 1),
                   fmt::format("`{}` [{}], {}", field.quantity.name, field.quantity.unit,
                               field.quantity.is_state ? "part of the state" : "not part of the state")});
  }
  for (std::size_t n = 0; n < species_.size(); ++n) {
    std::string said = fmt::format("`{}` of the mass {}", species_[n].name, species_[n].mass);
    for (const HostSpecies::Attribute& of : species_[n].attributes)
      said += fmt::format(", `{}` [{}]", of.name, of.unit);
    all.push_back({fmt::format("kind {} of particles", n + 1), said});
  }
  return all;
}

std::vector<Saying> HostState::types() const {
  std::vector<Saying> all;
  for (const HostField& field : fields_)
    if (!field.blocks.empty()) all.push_back({of_type + ("`" + field.quantity.name + "`"), to_string(field.type)});
  return all;
}

const Digest& HostState::digest() const {
  if (!digest_) {
    const std::vector<Saying> of_types = types();
    digest_ = Digest{digest_of(sayings()), {}};
    if (!of_types.empty()) digest_->of_types = digest_of(of_types);
  }
  return *digest_;
}

BlockTable HostState::table_of(const HostField& field, int level) const {
  const auto l = static_cast<std::size_t>(level);
  BlockTable table{levels_.layouts.blocks[l], compute_.rank(), 1, mesh_.ghosts, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(size_bytes(field.type));
  for (const std::size_t n : levels_.block_of[l]) {
    const HostMemory& memory = field.blocks[n];
    const mesh::Int3 first = mesh_.blocks[n].box.lo - mesh_.ghosts.layers,
                     elements = mesh_.blocks[n].box.grown(mesh_.ghosts.layers).extent();
    auto [x, y, z] = memory.strides;
    // Along an axis of one element nobody steps, and any number may stand there.
    if (elements.x == 1) x = 1;
    if (elements.y == 1) y = elements.x;
    if (elements.z == 1) z = std::ptrdiff_t{elements.x} * elements.y;
    char* const origin = static_cast<char*>(memory.first) - bytes * (x * first.x + y * first.y + z * first.z);
    table.blocks.push_back({origin, y, z, 0, x});
  }
  return table;
}

void HostState::add(const HostField& field, mesh::Snapshot& snapshot) const {
  std::vector<std::shared_ptr<const BlockTable>> tables;
  bool has_rows = true;
  for (int level = 0; level < static_cast<int>(levels_.layouts.blocks.size()); ++level) {
    tables.push_back(std::make_shared<const BlockTable>(table_of(field, level)));
    has_rows = has_rows && tables.back()->has_rows();
  }
  // Ranks whose arrays lie otherwise have to do as the others do.
  has_rows = compute_.all(has_rows);
  if (has_rows && field.type == mesh::ElementType::float64) {
    std::vector<mesh::FieldView<const double>> views;
    for (const auto& table : tables) views.emplace_back(table);
    return snapshot.add_stored(field.quantity, std::move(views), 0);
  }
  if (has_rows && field.type == mesh::ElementType::float32)
    return snapshot.add(field.quantity, [tables](int level) {
      return mesh::AnyField(mesh::FieldView<const float>(tables[static_cast<std::size_t>(level)]));
    });
  with_type(field.type, [&]<typename T>(T*) {
    snapshot.add_computed(field.quantity, [tables](int level, const Box& box, const core::View4<double>& out) {
      const BlockTable& table = *tables[static_cast<std::size_t>(level)];
      const BlockTable::Block& block = table.blocks[static_cast<std::size_t>(table.block_on(box))];
      core::for_each_cell(box,
                          [&](int k, int j, int i) { out(k, j, i) = static_cast<double>(cell_of<T>(block, k, j, i)); });
    });
  });
}

mesh::Particles HostState::particles_of(const HostSpecies& species) const {
  mesh::Particles particles;
  particles.id.assign(species.id, species.id + species.count);
  for (std::size_t axis = 0; axis < 3; ++axis)
    particles.position[axis].assign(species.position[axis], species.position[axis] + species.count);
  for (const HostSpecies::Attribute& attribute : species.attributes)
    particles.attributes.push_back(
        {attribute.name, attribute.unit, {attribute.values, attribute.values + species.count}});
  particles.mass = species.mass;
  compute_.agree_on([&] { require_places(species); });
  return brought_to_owners(std::move(particles));
}

// The finest level that has a leaf at a place; 0 beyond the domain, where it is refused.
std::size_t HostState::level_of(std::array<double, 3> place) const {
  const mesh::Geometry& geometry = mesh_.geometry;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (geometry.periodic[axis]) place[axis] = mesh::wrapped_coordinate(place[axis], geometry.length[axis]);
    if (!(place[axis] >= 0.0 && place[axis] < geometry.length[axis])) return 0;
  }
  const std::vector<mesh::Layout>& leaves = levels_.layouts.leaves;
  std::size_t level = leaves.size() - 1;
  while (level > 0 && leaves[level].find(cell_of(geometry.refined(static_cast<int>(level)), place)) < 0) --level;
  return level;
}

mesh::Particles HostState::brought_to_owners(mesh::Particles particles) const {
  const std::vector<mesh::Layout>& leaves = levels_.layouts.leaves;
  if (leaves.size() == 1) {
    redistribute::migrate(compute_, leaves.front(), mesh_.geometry, particles);
    return particles;
  }
  std::vector<std::vector<std::size_t>> of_level(leaves.size());
  for (std::size_t p = 0; p < particles.size(); ++p) {
    const auto& position = particles.position;
    of_level[level_of({position[0][p], position[1][p], position[2][p]})].push_back(p);
  }
  mesh::Particles all = selected(particles, {});
  for (std::size_t level = 0; level < leaves.size(); ++level) {
    if (level > 0 && leaves[level].size() == 0)
      continue;  // refined as a whole; level 0 refuses those beyond the domain
    mesh::Particles there = selected(particles, of_level[level]);
    redistribute::migrate(compute_, leaves[level], mesh_.geometry.refined(static_cast<int>(level)), there);
    mesh::append(there, all);
  }
  return all;
}

mesh::Snapshot HostState::snapshot() const {
  mesh::Snapshot snapshot;
  snapshot.moment = moment;
  snapshot.geometry = mesh_.geometry;
  snapshot.length_unit = mesh_.length_unit;
  snapshot.rank = compute_.rank();
  snapshot.levels = levels_.layouts.leaves;
  if (snapshot.levels.size() > 1) snapshot.with_refined = levels_.layouts.blocks;
  for (const HostField& field : fields_) add(field, snapshot);
  for (const HostSpecies& species : species_)
    snapshot.add_species({species.name, [this, species] { return particles_of(species); }});
  return snapshot;
}

void HostState::fill(const HostField& field, const std::string& name, const mesh::Snapshot& state) const {
  for (int level = 0; level < static_cast<int>(levels_.layouts.blocks.size()); ++level) {
    const BlockTable table = table_of(field, level);
    mesh::Field<double> cells(table.layout, compute_.rank());
    state.read(name, level, cells);
    compute_.agree_on([&] {
      with_type(field.type, [&]<typename T>(T*) {
        for (int b = 0; b < cells.blocks(); ++b)
          core::for_each_cell(cells.box(b), [&, from = cells.view(b)](int k, int j, int i) {
            cell_of<T>(table.blocks[static_cast<std::size_t>(b)], k, j, i) = taken_as<T>(from(k, j, i), field);
          });
      });
    });
  }
}

void HostState::require_mesh_of(const mesh::Snapshot& state) const {
  const auto beside = [&](const mesh::Layout& inner, const mesh::Layout& outer) -> std::optional<Box> {
    for (const Box& box : inner.boxes()) {
      std::int64_t cells = box.volume();
      outer.for_each_meeting(box, [&](std::int32_t other) { cells -= intersection(box, outer.box(other)).volume(); });
      if (cells > 0) return box;
    }
    return std::nullopt;
  };
  const auto refuse = [&](const Box& box, std::size_t level, const char* who) {
    throw core::Error(fmt::format("the checkpoint has another mesh: of the cells {} along x, y, z of level {} {}",
                                  to_string(box), level, who),
                      state.source, "give the blocks that it has, and change them after `begin`");
  };
  const mesh::LevelLayouts& own = levels_.layouts;
  for (std::size_t level = 0; level < std::max(own.leaves.size(), state.levels.size()); ++level) {
    if (level >= own.leaves.size()) refuse(state.levels[level].box(0), level, "the program has not all");
    if (level >= state.levels.size()) refuse(own.blocks[level].box(0), level, "it has not all");
    if (const auto box = beside(state.levels[level], own.blocks[level])) refuse(*box, level, "the program has not all");
    if (const auto box = beside(own.leaves[level], state.levels[level])) refuse(*box, level, "it has not all");
  }
  if (const std::string unit = io::canonical_unit(state.length_unit); unit != mesh_.length_unit) {
    if (unit.empty() || mesh_.length_unit.empty()) return;
    throw core::Error(fmt::format("lengths are in {}, and in {} in the checkpoint", mesh_.length_unit, unit),
                      state.source, "say the unit that the program had then");
  }
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (const double length = mesh_.geometry.length[axis], there = state.geometry.length[axis];
        !(std::abs(length - there) <= 1e-6 * length))
      throw core::Error(fmt::format("the domain is {:g} long along {}, and {:g} in the checkpoint", length,
                                    names_of_axes[axis], there),
                        state.source, "say the lengths that the domain had then");
}

void HostState::require_fields_of(const mesh::Snapshot& state) const {
  for (const HostField& field : fields_)
    if (field.quantity.is_state && !state.has(name_in(state, field)))
      throw core::Error(fmt::format("the checkpoint has no `{}`", field.quantity.name), state.source,
                        "give the program's state the quantities that it had then");
}

void HostState::take(const mesh::Snapshot& state) {
  for (const HostField& field : fields_)
    if (field.quantity.is_state) fill(field, name_in(state, field), state);
  for (const mesh::Species& species : state.species()) restored[species.name()] = species.take();
  auto numbers = std::move(moment.attributes);  // that the program has said already
  moment = state.moment;
  numbers.merge(moment.attributes);
  moment.attributes = std::move(numbers);
}

}  // namespace sidestream::sims
