#include "sims/files/file_matter.hpp"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/common_units.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/refined_particle_mesh.hpp"

namespace sidestream::sims {

namespace {

using mesh::Particles;
using Levels = std::vector<mesh::Field<double>>;

const char* const density_name = "dark_matter_density";

const mesh::ParticleAttribute* attribute_of(const Particles& particles, const std::string& name) {
  const auto found = std::ranges::find(particles.attributes, name, &mesh::ParticleAttribute::name);
  return found == particles.attributes.end() ? nullptr : &*found;
}

// Fractions of the largest mass where masses differ.
void set_masses(const comm::Communicator& world, std::vector<double> masses, Particles& own) {
  const auto [least, largest] = std::ranges::minmax_element(masses);
  own.mass = world.max(masses.empty() ? 0.0 : *largest);
  if (world.min(masses.empty() ? own.mass : *least) == own.mass) return;
  for (double& mass : masses) mass /= own.mass;
  own.attributes.push_back({solvers::mass_fraction_name, "1", std::move(masses)});
}

// Ids, positions and masses as `ParticleMesh` takes them; `from` is null on ranks without particles.
Particles bodies(const comm::Communicator& world, const Particles* from) {
  Particles own;
  const mesh::ParticleAttribute *mass = nullptr, *fraction = nullptr;
  if (from != nullptr) {
    own.id = from->id;
    own.position = from->position;
    mass = attribute_of(*from, "mass");
    fraction = attribute_of(*from, solvers::mass_fraction_name);
  }
  if (!world.all(mass == nullptr)) {
    set_masses(world, mass != nullptr ? mass->values : std::vector<double>(), own);
    return own;
  }
  own.mass = world.max(from != nullptr ? from->mass : 0.0);
  if (!world.all(fraction == nullptr))
    own.attributes.push_back(
        {solvers::mass_fraction_name, "1", fraction != nullptr ? fraction->values : std::vector<double>()});
  return own;
}

Levels deposited(const comm::Communicator& world, const mesh::Snapshot& file, const mesh::Species& species) {
  Particles particles = bodies(world, species.particles());
  const std::int64_t total = world.sum(static_cast<std::int64_t>(particles.size()));
  Levels density;
  for (const mesh::Layout& blocks : file.blocks()) density.emplace_back(blocks, file.rank);
  if (!(particles.mass > 0.0))
    throw core::Error("the particles of dark matter have no masses", file.source, "name another density as `field`");
  if (!file.is_refined()) {
    solvers::ParticleMesh(world, file.levels.front(), file.geometry, total).deposit(particles, density.front());
    return density;
  }
  const mesh::Hierarchy hierarchy(io::forest_of(file, *io::block_of(file)), file.geometry, world.size());
  Particles none = particles;
  none.resize(0);
  std::vector<Particles> levels(file.levels.size(), none);
  levels.front() = std::move(particles);
  redistribute::migrate_levels(world, hierarchy, levels, 0, solvers::cloud_margin);
  Levels dealt;  // as a run deals its blocks, which may be otherwise than those of the file lie
  for (int level = 0; level <= hierarchy.finest_level(); ++level)
    dealt.emplace_back(hierarchy.layout(level), file.rank);
  solvers::RefinedParticleMesh(world, hierarchy, total).deposit(levels, std::vector<double>(levels.size()), dealt);
  for (std::size_t level = 0; level < density.size(); ++level)
    redistribute::Redistribution(world, dealt[level].layout(), density[level].layout())
        .apply(dealt[level], density[level]);
  return density;
}

// Of a refined mesh, blocks in which a cloud and its margin have room.
bool has_room(const mesh::Snapshot& file) {
  const auto block = file.is_refined() ? io::block_of(file) : solvers::cloud_margin;
  return block && *block >= solvers::cloud_margin;
}

}  // namespace

void add_dark_matter_of_particles(const comm::Communicator& world, mesh::Snapshot& file) {
  const auto species = std::ranges::find(file.species(), mesh::dark_matter, &mesh::Species::name);
  const mesh::Periodicity& periodic = file.geometry.periodic;
  if (file.has(density_name) || species == file.species().end() || file.length_unit != "Mpc" || !periodic[0] ||
      !periodic[1] || !periodic[2] || !has_room(file))
    return;
  struct Kept {
    mesh::Snapshot frame;
    mesh::Species species;
    Levels levels;
  };
  auto kept = std::make_shared<Kept>(Kept{io::frame_in_common_units(file), *species, {}});
  file.add({density_name, "Msun/Mpc^3", "mass of the dark matter in a comoving volume"}, [&world, kept](int level) {
    if (kept->levels.empty()) kept->levels = deposited(world, kept->frame, kept->species);
    return mesh::AnyField(
        std::shared_ptr<const mesh::Field<double>>(kept, &kept->levels[static_cast<std::size_t>(level)]));
  });
}

}  // namespace sidestream::sims
