#include "universe_from_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "initial_gas.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/initial_file.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/cloud_sums.hpp"

namespace sidestream::sims {

namespace {

using mesh::Particles;

// Numbers of a file and of the configuration are the same when they differ by no more than a few roundings of single
// precision.
constexpr double largest_difference = 1e-6;
// Programs differ in their constants of nature (G times a solar mass over a Mpc by 5e-5) and may store masses in single
// precision; a wrong Omega_m or h shows far above this.
constexpr double largest_mass_difference = 1e-3;

class Differences {
 public:
  void compare(const char* key, const std::optional<double>& in_file, double wanted, double scale) {
    if (!in_file || std::abs(*in_file - wanted) <= largest_difference * scale) return;
    text_ += fmt::format("{}{} is {:.9g} in the file, {:.9g} in the configuration", text_.empty() ? "" : "; ", key,
                         *in_file, wanted);
  }
  void require_none(const std::string& path) const {
    if (!text_.empty())
      throw core::Error("the initial conditions are of another universe: " + text_, path,
                        "give the configuration the values of the file, or take another file");
  }

 private:
  std::string text_;
};

void check_universe(const CosmologyConfig& config, const io::InitialDescription& file) {
  const solvers::CosmologyParameters& p = config.parameters;
  Differences differences;
  differences.compare("z_start", file.redshift, config.run.z_start, 1.0 + config.run.z_start);
  differences.compare("omega_m", file.omega_m, p.omega_m, p.omega_m);
  if (config.has_gas) differences.compare("omega_b", file.omega_b, p.omega_b, std::max(p.omega_b, 1e-3));
  differences.compare("omega_lambda", file.omega_lambda, p.lambda(), 1.0);
  differences.compare("hubble", file.hubble, p.hubble, p.hubble);
  const mesh::Geometry geometry = config.geometry();
  for (std::size_t axis = 0; axis < 3; ++axis)
    differences.compare(std::array{"the box along x [Mpc]", "the box along y [Mpc]", "the box along z [Mpc]"}[axis],
                        file.box_mpc[axis], geometry.length[axis], geometry.length[axis]);
  differences.require_none(file.path);
}

void check_gas(const CosmologyConfig& config, const io::InitialDescription& file) {
  if (file.gas_parcels > 0 && !config.has_gas)
    throw core::Error("the initial conditions have gas, but the simulation has none", file.path,
                      "take simulation = \"cosmology\", or a file in which all matter is dark");
  if (file.gas_lattice != mesh::Int3{} && file.gas_lattice != config.mesh.extent())
    throw core::Error(
        fmt::format("the gas of the initial conditions is on {} x {} x {} cells, the mesh has {} x {} x {}",
                    file.gas_lattice.x, file.gas_lattice.y, file.gas_lattice.z, config.mesh.cells[0],
                    config.mesh.cells[1], config.mesh.cells[2]),
        file.path, "give `mesh.cells` the numbers of the file");
}

std::unique_ptr<io::InitialFile> open_checked(const CosmologyConfig& config) {
  auto file = io::open_initial_file(config.run.initial_file);
  check_universe(config, file->description());
  check_gas(config, file->description());
  return file;
}

// Positions that rounding put on the far side of the box, and no others, may lie outside.
void check_inside(const mesh::Geometry& geometry, const Particles& particles, const std::string& path) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double length = geometry.length[axis], margin = largest_difference * length;
    for (std::size_t n = 0; n < particles.size(); ++n) {
      const double x = particles.position[axis][n];
      if (x >= -margin && x <= length + margin) continue;
      throw core::Error(fmt::format("the particle with id {} is at {} = {} Mpc, outside of the box of {} Mpc",
                                    particles.id[n], "xyz"[axis], x, length),
                        path, "set `cosmology.box` to the box of the file");
    }
  }
}

// Each id is looked for by the rank that its remainder names.
void check_ids(const comm::Communicator& comm, const Particles& particles, const std::string& path) {
  std::vector<std::vector<std::int64_t>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const std::int64_t id : particles.id)
    outgoing[static_cast<std::uint64_t>(id) % static_cast<std::uint64_t>(comm.size())].push_back(id);
  const auto incoming = comm.exchange(outgoing);
  comm.agree_on([&] {
    std::vector<std::int64_t> ids;
    for (const auto& message : incoming) ids.insert(ids.end(), message.begin(), message.end());
    std::ranges::sort(ids);
    const auto twice = std::ranges::adjacent_find(ids);
    if (twice != ids.end())
      throw core::Error(fmt::format("two particles have the id {}", *twice), path,
                        "particles are told apart by their ids: give each one of its own");
  });
}

double total_mass(const comm::Communicator& comm, const Particles& particles) {
  core::ExactSum sum;
  sum.add(particles.attribute(io::initial_mass_name));
  return comm.sum(sum);
}

// The same on all ranks, so that they throw together.
void check_mass(const char* matter, const char* key, double mass, double density, const CosmologyConfig& config) {
  const double wanted = density * config.geometry().volume();
  if (std::abs(mass - wanted) <= largest_mass_difference * wanted) return;
  throw core::Error(
      fmt::format("{} of the initial conditions has {:.6g} Msun, but {} of the configuration makes {:.6g} "
                  "Msun in the box",
                  matter, mass, key, wanted),
      config.run.initial_file,
      fmt::format("look at omega_m, omega_b, hubble and box; {} would fit",
                  fmt::format("a mean density of {:.6g} times that of the configuration", mass / wanted)));
}

void scale(double factor, std::vector<double>& values) {
  for (double& value : values) value *= factor;
}

// Gas on the root level from parcels that carry mass, velocity and internal energy, of whose masses `share` is gas.
mesh::Field<double> gas_of(const comm::Communicator& comm, const CosmologyConfig& config, const mesh::Hierarchy& mesh,
                           const Particles& parcels, double share, double a) {
  const auto& mass = parcels.attribute(io::initial_mass_name);
  std::vector<std::vector<double>> amounts(5, std::vector<double>(parcels.size()));
  const bool has_energy = parcels.attributes.size() > 4;
  for (std::size_t n = 0; n < parcels.size(); ++n) {
    amounts[0][n] = share * mass[n];
    for (std::size_t axis = 0; axis < 3; ++axis)
      amounts[1 + axis][n] = amounts[0][n] * a * parcels.attributes[axis].values[n];
    if (has_energy) amounts[4][n] = amounts[0][n] * a * a * parcels.attribute(io::initial_energy_name)[n];
  }
  const std::vector<std::span<const double>> columns(amounts.begin(), amounts.end());
  const mesh::Layout& layout = mesh.layout(0);
  const mesh::Field<double> sums = solvers::cloud_sums(comm, layout, mesh.geometry(0), parcels, columns);

  solvers::InitialGas gas{mesh::Field<double>(layout, comm.rank()), mesh::Field<double>(layout, comm.rank(), 3)};
  std::int64_t empty = 0, cold = 0;
  for (int b = 0; b < sums.blocks(); ++b) {
    const auto from = sums.view(b);
    const auto density = gas.density.view(b), velocity = gas.velocity.view(b);
    core::for_each_cell(sums.box(b), [&](int k, int j, int i) {
      density(k, j, i) = from(0, k, j, i);
      empty += from(0, k, j, i) > 0.0 ? 0 : 1;
      cold += from(4, k, j, i) > 0.0 ? 0 : 1;
      for (int axis = 0; axis < 3; ++axis) velocity(axis, k, j, i) = from(1 + axis, k, j, i) / from(0, k, j, i);
    });
  }
  empty = comm.sum(empty);
  if (empty > 0)
    throw core::Error(fmt::format("{} cells of the mesh get no gas", empty), config.run.initial_file,
                      "take a mesh with no more cells along an axis than the file has particles");
  mesh::Field<double> state = conserved_gas(config, gas, a);
  if (config.run.temperature_start || comm.sum(cold) > 0) return state;
  for (int b = 0; b < state.blocks(); ++b) {
    const auto from = sums.view(b);
    const auto to = state.view(b);
    core::for_each_cell(state.box(b),
                        [=](int k, int j, int i) { to(solvers::internal_energy, k, j, i) = from(4, k, j, i); });
  }
  solvers::set_total_energy(state);
  return state;
}

// Dark matter as the simulation keeps it: momenta instead of velocities, one mass, and fractions of it where masses
// differ. `share` of the masses is dark.
Particles dark_matter(const comm::Communicator& comm, Particles from, double share, double a) {
  Particles particles;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    scale(a, from.attributes[axis].values);
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

void check_initial_file(const CosmologyConfig& config) {
  open_checked(config);
}

UniverseState universe_from_file(const comm::Communicator& comm, const CosmologyConfig& config, double a) {
  UniverseState state{
      mesh::Hierarchy(mesh::Forest(config.mesh.extent(), config.mesh.block), config.geometry(), comm.size()),
      {},
      {},
      {}};
  const mesh::Layout& layout = state.hierarchy.layout(0);
  const mesh::Geometry& geometry = state.hierarchy.geometry(0);
  const std::string& path = config.run.initial_file;
  Particles particles, gas;
  comm.agree_on([&] {
    const auto file = open_checked(config);
    particles = file->particles(comm.rank(), comm.size());
    gas = file->gas(comm.rank(), comm.size());
    check_inside(geometry, particles, path);
    check_inside(geometry, gas, path);
  });
  check_ids(comm, particles, path);
  const double gas_mass = total_mass(comm, gas), mass = total_mass(comm, particles) + gas_mass;
  check_mass("all matter", "omega_m", mass, config.parameters.matter_density(), config);
  if (gas_mass > 0.0) check_mass("the gas", "omega_b", gas_mass, config.gas_mean_density(), config);

  redistribute::migrate(comm, layout, geometry, particles);
  const bool is_split = config.has_gas && gas_mass == 0.0;
  const double gas_share = is_split ? config.parameters.omega_b / config.parameters.omega_m : 0.0;
  if (is_split) {
    state.gas.push_back(gas_of(comm, config, state.hierarchy, particles, gas_share, a));
  } else if (config.has_gas) {
    redistribute::migrate(comm, layout, geometry, gas);
    state.gas.push_back(gas_of(comm, config, state.hierarchy, gas, 1.0, a));
  }
  state.particles.push_back(dark_matter(comm, std::move(particles), 1.0 - gas_share, a));
  return state;
}

}  // namespace sidestream::sims
