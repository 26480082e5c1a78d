#include "sims/host/host_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/migration.hpp"

namespace sidestream::sims {

namespace {

using mesh::BlockTable;
using mesh::Box;

// Calls `f` with a null pointer of the type of the elements.
template <typename F>
void with_type(mesh::ElementType type, F f) {
  using enum mesh::ElementType;
  switch (type) {
    case float32:
      return f(static_cast<float*>(nullptr));
    case float64:
      return f(static_cast<double*>(nullptr));
    case int8:
      return f(static_cast<std::int8_t*>(nullptr));
    case int16:
      return f(static_cast<std::int16_t*>(nullptr));
    case int32:
      return f(static_cast<std::int32_t*>(nullptr));
    case int64:
      return f(static_cast<std::int64_t*>(nullptr));
    case uint8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case uint16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case uint32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case uint64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case complex64:
    case complex128:
      break;
  }
  throw core::Error("a field of complex numbers", "", "give their parts as two fields");
}

template <typename T>
T& cell_of(const BlockTable::Block& block, int k, int j, int i) {
  return static_cast<T*>(block.origin)[k * block.stride_z + j * block.stride_y + i * block.stride_x];
}

}  // namespace

void HostState::set_mesh(const HostMesh& mesh) {
  HostLevels levels = levels_of(compute_, mesh);
  mesh_ = mesh;
  levels_ = std::move(levels);
  fields_.clear();
}

void HostState::set_field(HostField field) {
  const std::string where = fmt::format("field `{}`", field.quantity.name);
  if (!has_mesh()) throw core::Error("a field without a mesh", where, "say first what the mesh is");
  if (field.quantity.name.empty()) throw core::Error("a field has no name", "", "name what it is: \"temperature\"");
  if (field.blocks.size() != mesh_.blocks.size())
    throw core::Error(fmt::format("{} pieces of memory for {} blocks", field.blocks.size(), mesh_.blocks.size()), where,
                      "give one for each block of this rank, in the order of the mesh");
  for (const HostMemory& memory : field.blocks)
    if (memory.first == nullptr) throw core::Error("a block of a field has no memory", where, "give where it lies");
  with_type(field.type, [](auto*) {});
  const auto known =
      std::ranges::find(fields_, field.quantity.name, [](const HostField& one) { return one.quantity.name; });
  if (known != fields_.end())
    *known = std::move(field);
  else
    fields_.push_back(std::move(field));
}

void HostState::set_species(HostSpecies species) {
  const std::string where = fmt::format("species `{}`", species.name);
  if (species.name.empty()) throw core::Error("particles have no name", "", "name their kind: \"dark_matter\"");
  const auto is_missing = [](const double* numbers) { return numbers == nullptr; };
  if (species.count > 0 && (species.id == nullptr || std::ranges::any_of(species.position, is_missing) ||
                            std::ranges::any_of(species.attributes, is_missing, &HostSpecies::Attribute::values)))
    throw core::Error("numbers of particles have no memory", where, "give ids, positions and every attribute");
  const auto known = std::ranges::find(species_, species.name, &HostSpecies::name);
  if (known != species_.end())
    *known = std::move(species);
  else
    species_.push_back(std::move(species));
}

BlockTable HostState::table_of(const HostField& field, int level) const {
  const auto l = static_cast<std::size_t>(level);
  BlockTable table{levels_.layouts.blocks[l], compute_.rank(), 1, mesh_.ghosts, {}};
  const auto bytes = static_cast<std::ptrdiff_t>(size_bytes(field.type));
  for (const std::size_t n : levels_.block_of[l]) {
    const HostMemory& memory = field.blocks[n];
    const mesh::Int3 first = mesh_.blocks[n].box.lo - mesh_.ghosts.layers;
    const auto& [x, y, z] = memory.strides;
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
  if (levels_.layouts.leaves.size() == 1)
    redistribute::migrate(compute_, levels_.layouts.leaves.front(), mesh_.geometry, particles);
  return particles;
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

void HostState::fill(const HostField& field, const mesh::Snapshot& state) const {
  for (int level = 0; level < static_cast<int>(levels_.layouts.blocks.size()); ++level) {
    const BlockTable table = table_of(field, level);
    mesh::Field<double> cells(table.layout, compute_.rank());
    state.read(field.quantity.name, level, cells);
    with_type(field.type, [&]<typename T>(T*) {
      for (int b = 0; b < cells.blocks(); ++b)
        core::for_each_cell(cells.box(b), [&, from = cells.view(b)](int k, int j, int i) {
          cell_of<T>(table.blocks[static_cast<std::size_t>(b)], k, j, i) = static_cast<T>(from(k, j, i));
        });
    });
  }
}

void HostState::take(const mesh::Snapshot& state) {
  for (const HostField& field : fields_) {
    if (!field.quantity.is_state) continue;
    compute_.agree_on([&] {
      if (!state.has(field.quantity.name))
        throw core::Error(fmt::format("the checkpoint has no `{}`", field.quantity.name), state.source,
                          "give the program's state the quantities that it had then");
    });
    fill(field, state);
  }
  for (const mesh::Species& species : state.species()) restored[species.name()] = species.take();
  const double stays = progress;
  moment = state.moment;
  progress = stays;
}

}  // namespace sidestream::sims
