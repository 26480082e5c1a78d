#include "sims/cosmology/initial_matter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sidestream/comm/read_together.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/io/initial_file.hpp"
#include "sidestream/solvers/cloud_sums.hpp"

namespace sidestream::sims {

namespace {

using mesh::Particles;

// Programs differ in their constants of nature (G times a solar mass over a Mpc by 5e-5) and may store masses in single
// precision; a wrong Omega_m or h shows far above this.
constexpr double largest_mass_difference = 1e-3;

class Differences {
 public:
  void compare(const char* key, const std::optional<double>& in_file, double wanted, double scale) {
    if (!in_file || std::abs(*in_file - wanted) <= largest_difference_in_file * scale) return;
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
  if (file.gas_parcels > 0 && !config.has_gas && !file.masses_are_parts)
    throw core::Error("the initial conditions have gas, but the simulation has none", file.path,
                      "take simulation = \"cosmology\", or a file in which all matter is dark");
  if (config.has_gas && file.gas_lattice != mesh::Int3{} && file.gas_lattice != config.mesh.extent())
    throw core::Error(
        fmt::format("the gas of the initial conditions is on {} x {} x {} cells, the mesh has {} x {} x {}",
                    file.gas_lattice.x, file.gas_lattice.y, file.gas_lattice.z, config.mesh.cells[0],
                    config.mesh.cells[1], config.mesh.cells[2]),
        file.path, "give `mesh.cells` the numbers of the file");
}

std::unique_ptr<io::InitialFile> open_file(const CosmologyConfig& config) {
  return io::open_initial_file(config.run.initial_file,
                               {config.parameters.hubble, config.run.z_start, config.run.box_mpc});
}

std::unique_ptr<io::InitialFile> open_checked(const CosmologyConfig& config) {
  auto file = open_file(config);
  check_universe(config, file->description());
  check_gas(config, file->description());
  if (config.has_gas && file->description().gas_parcels == 0) check_floor(config);
  return file;
}

// Positions that rounding put on the far side of the box, and no others, may lie outside.
void check_inside(const mesh::Geometry& geometry, const Particles& particles, const std::string& path) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double length = geometry.length[axis], margin = largest_difference_in_file * length;
    for (std::size_t n = 0; n < particles.size(); ++n) {
      const double x = particles.position[axis][n];
      if (x >= -margin && x <= length + margin) continue;
      throw core::Error(fmt::format("the particle with id {} is at {} = {} Mpc, outside of the box of {} Mpc",
                                    particles.id[n], "xyz"[axis], x, length),
                        path, "set `cosmology.box` to the box of the file");
    }
  }
}

void check_speeds(const Particles& particles, const std::string& path) {
  constexpr double most = core::units::speed_of_light;
  const auto& velocity = particles.attributes;
  for (std::size_t n = 0; n < particles.size(); ++n) {
    const double u = velocity[0].values[n], v = velocity[1].values[n], w = velocity[2].values[n];
    if (u * u + v * v + w * w <= most * most) continue;
    throw core::Error(fmt::format("the particle with id {} moves at {:.6g} km/s, faster than light", particles.id[n],
                                  core::hypot(core::hypot(u, v), w)),
                      path, "look at the units of the velocities in the file");
  }
}

void check_ids(std::vector<std::int64_t> ids, const std::string& path) {
  std::ranges::sort(ids);
  const auto twice = std::ranges::adjacent_find(ids);
  if (twice != ids.end())
    throw core::Error(fmt::format("two particles have the id {}", *twice), path,
                      "particles are told apart by their ids: give each one of its own");
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
    check_ids(std::move(ids), path);
  });
}

void check_mass(const char* matter, const char* key, double mass, double density, const CosmologyConfig& config) {
  const double wanted = density * config.geometry().volume();
  if (std::abs(mass - wanted) > largest_mass_difference * wanted)
    throw core::Error(fmt::format("{} of the initial conditions has {:.6g} Msun, but {} of the configuration makes "
                                  "{:.6g} Msun in the box",
                                  matter, mass, key, wanted),
                      config.run.initial_file, "look at omega_m, omega_b, hubble and box");
}

// Of all matter in Msun.
struct Masses {
  core::ExactSum particles, gas;

  void add(const InitialMatter& matter) {
    particles.add(matter.particles.attribute(io::initial_mass_name));
    if (matter.has_gas) gas.add(matter.gas.attribute(io::initial_mass_name));
  }
};

void check_masses(const CosmologyConfig& config, bool has_gas, double particles, double gas) {
  check_mass("all matter", "omega_m", particles + gas, config.parameters.matter_density(), config);
  if (has_gas) check_mass("the gas", "omega_b", gas, config.gas_mean_density(), config);
}

// Those of dark matter, or of all matter where there is no gas.
struct MassRange {
  double least = std::numeric_limits<double>::infinity(), largest = 0.0;

  void add(const Particles& particles) {
    for (const double mass : particles.attribute(io::initial_mass_name)) {
      least = std::min(least, mass);
      largest = std::max(largest, mass);
    }
  }
  void check(const std::string& path) const {
    constexpr double smallest_fraction = 0x1p-30;  // that a deposit still resolves
    if (least < smallest_fraction * largest)
      throw core::Error(fmt::format("the masses of the particles go from {:.3g} to {:.3g} Msun", least, largest), path,
                        "a run takes masses that differ by a factor of 2^30 at most");
  }
};

void scale(double factor, std::vector<double>& values) {
  for (double& value : values) value *= factor;
}

// Parts of the mass of all become masses [Msun], and particles that stay on their lattice go where their velocities of
// first order say: x += u / (a H f).
void complete(const CosmologyConfig& config, const io::InitialDescription& file, const solvers::Background& background,
              double a, InitialMatter& matter) {
  if (file.masses_are_parts) {
    const double volume = config.geometry().volume(), gas = matter.has_gas ? config.gas_mean_density() : 0.0;
    scale((config.parameters.matter_density() - gas) * volume, matter.particles.attribute(io::initial_mass_name));
    if (matter.has_gas) scale(gas * volume, matter.gas.attribute(io::initial_mass_name));
  }
  if (file.is_displaced) return;
  const double per_velocity = 1.0 / (a * background.hubble(a) * background.growth_rate(a));
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t n = 0; n < matter.particles.size(); ++n)
      matter.particles.position[axis][n] += per_velocity * matter.particles.attributes[axis].values[n];
}

// What the rank `rank` of `ranks` begins with. Local.
InitialMatter read_share(const io::InitialFile& file, const CosmologyConfig& config,
                         const solvers::Background& background, double a, int rank, int ranks) {
  const std::string& path = config.run.initial_file;
  InitialMatter matter;
  matter.has_gas = config.has_gas && file.description().gas_parcels > 0;
  matter.particles = file.particles(rank, ranks);
  if (matter.has_gas) matter.gas = file.gas(rank, ranks);
  check_speeds(matter.particles, path);
  if (matter.has_gas) check_speeds(matter.gas, path);
  complete(config, file.description(), background, a, matter);
  if (file.description().masses_are_parts) return matter;  // displaced from a lattice: perhaps to the box's other side
  check_inside(config.geometry(), matter.particles, path);
  check_inside(config.geometry(), matter.gas, path);
  return matter;
}

// Every cell gets some of the gas, `largest` at most from each of `count` parcels, that `share_of` reads in `pieces`.
template <typename F>
void check_gas_everywhere(const CosmologyConfig& config, double largest, std::int64_t count, int pieces, F share_of) {
  solvers::CloudCover cover(config.geometry(), largest, count);
  for (int part = 0; part < pieces; ++part) {
    const InitialMatter matter = share_of(part);
    const Particles& parcels = matter.has_gas ? matter.gas : matter.particles;
    std::vector<double> mass = parcels.attribute(io::initial_mass_name);
    scale(gas_share(config, matter.has_gas), mass);
    cover.add(parcels, mass);
  }
  require_gas_everywhere(config, cover.empty_cells());
}

}  // namespace

double gas_share(const CosmologyConfig& config, bool has_gas) {
  return has_gas ? 1.0 : config.parameters.omega_b / config.parameters.omega_m;
}

void require_gas_everywhere(const CosmologyConfig& config, std::int64_t empty_cells) {
  if (empty_cells == 0) return;
  throw core::Error(fmt::format("{} cells of the mesh get no gas", empty_cells), config.run.initial_file,
                    "they are more than a cell away from every particle: take larger cells, or a file with more "
                    "particles");
}

std::int64_t initial_particles(const CosmologyConfig& config) {
  const std::int64_t lattice = config.particle_lattice().product();
  if (config.run.initial_file.empty()) return lattice;
  try {
    return open_file(config)->description().particles;
  } catch (const core::Error&) {
    return lattice;
  }
}

void check_initial_file(const CosmologyConfig& config, bool reads_all) {
  constexpr std::int64_t piece = 1 << 20, most_ids = 1 << 24;
  const auto file = open_checked(config);
  if (!reads_all) return;
  const solvers::Background background(config.parameters);
  const double a = solvers::scale_factor(config.run.z_start);
  const std::int64_t count = file->description().particles, parcels = file->description().gas_parcels;
  const int pieces = static_cast<int>((count + parcels) / piece + 1);
  const auto share_of = [&](int part) { return read_share(*file, config, background, a, part, pieces); };
  Masses masses;
  MassRange range, gas_range;
  std::vector<std::int64_t> ids;
  bool has_gas = false;
  for (int part = 0; part < pieces; ++part) {
    const InitialMatter matter = share_of(part);
    masses.add(matter);
    range.add(matter.particles);
    has_gas = matter.has_gas;
    if (has_gas) gas_range.add(matter.gas);
    if (count <= most_ids) ids.insert(ids.end(), matter.particles.id.begin(), matter.particles.id.end());
  }
  check_ids(std::move(ids), config.run.initial_file);
  check_masses(config, has_gas, masses.particles.value(), masses.gas.value());
  range.check(config.run.initial_file);
  if (!config.has_gas) return;
  const double largest = gas_share(config, has_gas) * (has_gas ? gas_range : range).largest;
  check_gas_everywhere(config, largest, has_gas ? parcels : count, pieces, share_of);
}

InitialMatter read_initial_matter(const comm::Communicator& comm, const CosmologyConfig& config,
                                  const solvers::Background& background, double a) {
  InitialMatter matter;
  std::unique_ptr<io::InitialFile> file;
  comm::read_together(comm, [&] { file = open_checked(config); });
  comm.agree_on([&] { matter = read_share(*file, config, background, a, comm.rank(), comm.size()); });
  check_ids(comm, matter.particles, config.run.initial_file);
  Masses masses;
  masses.add(matter);
  const double particles = comm.sum(masses.particles), gas = comm.sum(masses.gas);
  MassRange range;
  range.add(matter.particles);
  range = {comm.min(range.least), comm.max(range.largest)};
  comm.agree_on([&] {
    check_masses(config, matter.has_gas, particles, gas);
    range.check(config.run.initial_file);
  });
  return matter;
}

}  // namespace sidestream::sims
