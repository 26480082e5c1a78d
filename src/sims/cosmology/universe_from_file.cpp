#include "sims/cosmology/universe_from_file.hpp"

#include <algorithm>
#include <limits>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/initial_file.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/cloud_sums.hpp"
#include "sims/cosmology/initial_gas.hpp"
#include "sims/cosmology/initial_matter.hpp"

namespace sidestream::sims {

namespace {

using mesh::Particles;

// What parcels bring to the gas, of whose masses `share` is gas: mass, supercomoving momenta and internal energy.
std::vector<std::vector<double>> gas_amounts(const Particles& parcels, double share, double a) {
  const auto& mass = parcels.attribute(io::initial_mass_name);
  const bool has_energy = parcels.attributes.back().name == io::initial_energy_name;
  std::vector<std::vector<double>> amounts(5, std::vector<double>(parcels.size()));
  for (std::size_t n = 0; n < parcels.size(); ++n) {
    amounts[0][n] = share * mass[n];
    for (std::size_t axis = 0; axis < 3; ++axis)
      amounts[1 + axis][n] = amounts[0][n] * a * parcels.attributes[axis].values[n];
    if (has_energy) amounts[4][n] = amounts[0][n] * a * a * parcels.attributes.back().values[n];
  }
  return amounts;
}

// Density and velocity from sums of mass and momenta. Throws on all ranks when a cell has no mass.
solvers::InitialGas gas_from(const comm::Communicator& comm, const CosmologyConfig& config,
                             const mesh::Field<double>& sums) {
  solvers::InitialGas gas{mesh::Field<double>(sums.layout(), comm.rank()),
                          mesh::Field<double>(sums.layout(), comm.rank(), 3)};
  std::int64_t empty = 0;
  for (int b = 0; b < sums.blocks(); ++b) {
    const auto from = sums.view(b);
    const auto density = gas.density.view(b), velocity = gas.velocity.view(b);
    core::for_each_cell(sums.box(b), [&](int k, int j, int i) {
      density(k, j, i) = from(0, k, j, i);
      empty += from(0, k, j, i) > 0.0 ? 0 : 1;
      for (int axis = 0; axis < 3; ++axis) velocity(axis, k, j, i) = from(1 + axis, k, j, i) / from(0, k, j, i);
    });
  }
  empty = comm.sum(empty);
  comm.agree_on([&] { require_gas_everywhere(config, empty); });
  return gas;
}

// Takes the internal energies of `sums` where every cell has some.
void set_internal_energy(const comm::Communicator& comm, const mesh::Field<double>& sums, mesh::Field<double>& state) {
  bool is_warm = true;
  for (int b = 0; b < sums.blocks(); ++b)
    core::for_each_cell(sums.box(b),
                        [&, from = sums.view(b)](int k, int j, int i) { is_warm &= from(4, k, j, i) > 0.0; });
  if (!comm.all(is_warm)) return;
  for (int b = 0; b < state.blocks(); ++b)
    core::for_each_cell(state.box(b), [from = sums.view(b), to = state.view(b)](int k, int j, int i) {
      to(solvers::internal_energy, k, j, i) = from(4, k, j, i);
    });
  solvers::set_total_energy(state);
}

// Gas on the root level from parcels of whose masses `share` is gas.
mesh::Field<double> gas_of(const comm::Communicator& comm, const CosmologyConfig& config, const mesh::Hierarchy& mesh,
                           const Particles& parcels, double share, double a) {
  const std::vector<std::vector<double>> amounts = gas_amounts(parcels, share, a);
  const std::vector<std::span<const double>> columns(amounts.begin(), amounts.end());
  const mesh::Field<double> sums = solvers::cloud_sums(comm, mesh.layout(0), mesh.geometry(0), parcels, columns);
  mesh::Field<double> state = conserved_gas(config, gas_from(comm, config, sums), a);
  if (!config.run.temperature_start) set_internal_energy(comm, sums, state);
  return state;
}

// Dark matter as the simulation keeps it: momenta instead of velocities, one mass, and fractions of it where masses
// differ. `share` of the masses is dark.
Particles dark_matter(const comm::Communicator& comm, Particles from, double share, double a) {
  Particles particles;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    for (double& value : from.attributes[axis].values) value *= a;
    particles.attributes.push_back({solvers::momentum_names[axis], "km/s", std::move(from.attributes[axis].values)});
  }
  std::vector<double>& mass = from.attribute(io::initial_mass_name);
  double largest = 0.0, least = std::numeric_limits<double>::infinity();
  for (const double one : mass) {
    largest = std::max(largest, one);
    least = std::min(least, one);
  }
  largest = comm.max(largest);
  least = comm.min(least);
  particles.mass = share * largest;
  if (least < largest) {
    for (double& one : mass) one /= largest;
    particles.attributes.push_back({solvers::mass_fraction_name, "1", std::move(mass)});
  }
  particles.id = std::move(from.id);
  particles.position = std::move(from.position);
  return particles;
}

}  // namespace

UniverseState universe_from_file(const comm::Communicator& comm, const CosmologyConfig& config,
                                 const solvers::Background& background, double a) {
  UniverseState state{
      mesh::Hierarchy(mesh::Forest(config.mesh.extent(), config.mesh.block), config.geometry(), comm.size()),
      {},
      {},
      {}};
  const mesh::Layout& layout = state.hierarchy.layout(0);
  const mesh::Geometry& geometry = state.hierarchy.geometry(0);
  InitialMatter matter = read_initial_matter(comm, config, background, a);
  redistribute::migrate(comm, layout, geometry, matter.particles);
  const bool is_split = config.has_gas && !matter.has_gas;
  const double share = gas_share(config, matter.has_gas);
  if (is_split) {
    state.gas.push_back(gas_of(comm, config, state.hierarchy, matter.particles, share, a));
  } else if (config.has_gas) {
    redistribute::migrate(comm, layout, geometry, matter.gas);
    state.gas.push_back(gas_of(comm, config, state.hierarchy, matter.gas, share, a));
  }
  state.particles.push_back(dark_matter(comm, std::move(matter.particles), is_split ? 1.0 - share : 1.0, a));
  return state;
}

}  // namespace sidestream::sims
