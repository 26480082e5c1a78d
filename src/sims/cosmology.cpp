#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cosmology_config.hpp"
#include "moments.hpp"
#include "part_timer.hpp"
#include "registry.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/background.hpp"
#include "sidestream/solvers/particle_mesh.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::momentum_names;

constexpr int steps_between_sorts = 16;

/// Gas, dark matter and gravity in an expanding box. Between steps gas and particles hold supercomoving quantities:
/// velocities times a, specific energies times a^2 (docs/concepts/cosmology.md), at the scale factor `a_`.
class Cosmology : public Simulation {
 public:
  Cosmology(const CosmologyConfig& config, const comm::Communicator& comm, const std::vector<double>& moments)
      : config_(config),
        comm_(comm),
        geometry_(config.geometry()),
        layout_(mesh::Forest(config.mesh.extent(), config.mesh.block).layout(comm.size())),
        background_(config.parameters),
        moments_(moments, config.run.z_end),
        hydro_(config.hydro, geometry_),
        gravity_(comm, layout_, geometry_, config.gravity),
        particle_mesh_(comm, layout_, geometry_, config.particle_lattice().product()),
        ghosts_(comm, layout_, solvers::hydro_ghost),
        density_(layout_, comm.rank()),
        acceleration_(layout_, comm.rank(), 3, 1) {}

  void initialize() override {
    timed(seconds_, "initial conditions", [&] {
      set_redshift(config_.run.z_start);
      make_initial_state();
    });
    begin();
  }

  void restore(const io::Checkpoint& checkpoint) override {
    timed(seconds_, "restart", [&] {
      step_ = checkpoint.step();
      a_ = checkpoint.attribute("scale_factor");
      redshift_ = checkpoint.attribute("redshift");
      last_dtau_ = checkpoint.attribute("last_dtau");
      particles_ = checkpoint.read_particles();
      particles_.mass = checkpoint.attribute("particle_mass");
      redistribute::migrate(comm_, layout_, geometry_, particles_);
      if (config_.has_gas) {
        gas_ = Field<double>(layout_, comm_.rank(), solvers::gas_components, solvers::hydro_ghost);
        checkpoint.read_field("gas", gas_);
      }
    });
    begin();
  }

  /// Kick, drift, kick: second order, time-symmetric for the particles; the gas is advanced by the Euler equations in
  /// the drift.
  void advance() override {
    const double next_redshift = choose_step();
    const solvers::LeapfrogStep step = solvers::leapfrog_step(background_, a_, solvers::scale_factor(next_redshift));
    kick(step.first_kick);
    advance_gas(step.drift);
    drift_particles(step.drift);
    set_redshift(next_redshift);
    solve_gravity();
    kick(step.second_kick);
    last_dtau_ = step.drift;
    ++step_;
  }

  std::int64_t step() const override { return step_; }
  std::optional<double> redshift() const override { return redshift_; }
  double progress() const override {
    if (redshift_ <= config_.run.z_end) return 1.0;
    const double first = std::log(solvers::scale_factor(config_.run.z_start));
    const double last = std::log(solvers::scale_factor(config_.run.z_end));
    return (std::log(a_) - first) / (last - first);
  }

  nlohmann::json status() const override {
    nlohmann::json status{{"scale_factor", a_},
                          {"time_gyr", background_.time(a_) * core::units::gyr_per_time_unit},
                          {"dt_myr", dt_myr_},
                          {"dt_limit", limit_},
                          {"particles", config_.particle_lattice().product()}};
    if (config_.has_gas) status["floored_cells"] = counts_.density_floors + counts_.energy_floors;
    return status;
  }

  mesh::Snapshot snapshot() override;
  void write_plotfile(const io::PlotfileFormat& format, const std::string& path) override;
  io::CheckpointContent checkpoint() const override;
  const PartSeconds& seconds() const override { return seconds_; }

 private:
  void begin() {
    largest_momentum_ = solvers::largest_momentum(particles_);
    solve_gravity();
  }
  void make_initial_state();
  void set_initial_gas(const solvers::InitialGas& initial);
  double choose_step();
  void kick(double factor);
  void advance_gas(double dtau);
  void drift_particles(double dtau);
  void solve_gravity();
  void add_gas_density();

  void set_redshift(double redshift) {
    redshift_ = redshift;
    a_ = solvers::scale_factor(redshift);
  }
  Field<double> dark_matter_density();
  Field<double> gas_quantity(int component, double factor, bool per_mass) const;
  double temperature_factor() const {
    return (config_.hydro.gamma - 1.0) * config_.run.molecular_weight * core::units::proton_mass_over_boltzmann /
           (a_ * a_);
  }

  CosmologyConfig config_;
  const comm::Communicator& comm_;
  mesh::Geometry geometry_;
  mesh::Layout layout_;
  solvers::Background background_;
  Moments moments_;
  solvers::Hydro hydro_;
  solvers::Gravity gravity_;
  solvers::ParticleMesh particle_mesh_;
  redistribute::GhostFill ghosts_;

  Field<double> gas_;           // conserved, supercomoving
  mesh::Particles particles_;   // with momenta w = a u
  Field<double> density_;       // of all matter, comoving
  Field<double> acceleration_;  // -grad psi, lap psi = density - mean

  std::int64_t step_ = 0;
  double redshift_ = 0.0, a_ = 1.0, largest_momentum_ = 0.0, last_dtau_ = 0.0, dt_myr_ = 0.0;
  std::string limit_ = "start";
  solvers::HydroCounts counts_;
  PartSeconds seconds_;
};

// The random field is given up before the gas gets its ghost cells: together they would be the peak of the run's
// memory.
void Cosmology::make_initial_state() {
  const double baryons = config_.has_gas ? config_.parameters.baryon_density() : 0.0;
  std::optional<solvers::InitialGas> gas;
  {
    const auto power = solvers::make_linear_power(config_.initial.power, config_.parameters);
    const solvers::InitialConditions initial(comm_, layout_, geometry_, background_, power, config_.initial);
    particles_ = initial.particles(a_, config_.parameters.matter_density() - baryons);
    if (config_.has_gas) gas = initial.gas(a_, baryons);
  }
  if (gas) set_initial_gas(*gas);
}

void Cosmology::set_initial_gas(const solvers::InitialGas& initial) {
  gas_ = Field<double>(layout_, comm_.rank(), solvers::gas_components, solvers::hydro_ghost);
  const double temperature = solvers::initial_gas_temperature(a_, config_.parameters.t_cmb);
  const double energy = temperature / temperature_factor();
  // Gas at the mean density has this temperature; denser gas was compressed adiabatically.
  const double mean = config_.parameters.baryon_density(), exponent = config_.hydro.gamma - 1.0;
  for (int b = 0; b < gas_.blocks(); ++b) {
    const auto gas = gas_.view(b);
    const auto rho = initial.density.view(b), velocity = initial.velocity.view(b);
    core::for_each_cell(gas_.box(b), [=](int k, int j, int i) {
      gas(solvers::density, k, j, i) = rho(k, j, i);
      for (int axis = 0; axis < 3; ++axis)
        gas(solvers::momentum_x + axis, k, j, i) = rho(k, j, i) * velocity(axis, k, j, i);
      gas(solvers::internal_energy, k, j, i) = rho(k, j, i) * energy * std::pow(rho(k, j, i) / mean, exponent);
    });
  }
  solvers::set_total_energy(gas_);
}

// The supercomoving step allowed by gas, particles, expansion and the step before, cut so as to land on the next
// moment.
double Cosmology::choose_step() {
  struct Candidate {
    double dtau;
    const char* name;
  };
  const double expanded = a_ * (1.0 + config_.run.largest_expansion);
  std::vector<Candidate> candidates{
      {background_.drift_integral(a_, expanded), "expansion"},
      {solvers::longest_drift(geometry_, comm_.max(largest_momentum_), config_.run.particle_cfl), "particles"}};
  if (config_.has_gas) candidates.push_back({comm_.min(hydro_.largest_step(gas_)), "gas"});
  if (last_dtau_ > 0.0) candidates.push_back({config_.run.step_growth * last_dtau_, "growth"});
  const Candidate least = *std::ranges::min_element(candidates, {}, &Candidate::dtau);

  const double moment = moments_.next(redshift_);
  const double left = background_.drift_integral(a_, solvers::scale_factor(moment));
  double next = moment;
  limit_ = least.name;
  if (least.dtau < left) {
    // Two equal steps rather than a long one and a sliver.
    const double dtau = 2.0 * least.dtau > left ? 0.5 * left : least.dtau;
    next = solvers::redshift(background_.scale_factor_after(a_, dtau));
  } else {
    limit_ = "moment";
  }
  dt_myr_ =
      (background_.time(solvers::scale_factor(next)) - background_.time(a_)) * core::units::gyr_per_time_unit * 1e3;
  return next;
}

void Cosmology::kick(double factor) {
  if (config_.has_gas) timed(seconds_, "hydro", [&] { solvers::kick(gas_, acceleration_, factor); });
  timed(seconds_, "particles", [&] { largest_momentum_ = particle_mesh_.kick(acceleration_, factor, particles_); });
}

void Cosmology::advance_gas(double dtau) {
  if (!config_.has_gas) return;
  timed(seconds_, "ghost exchange", [&] { ghosts_.fill(gas_); });
  timed(seconds_, "hydro", [&] {
    counts_ += hydro_.advance(gas_, dtau);
    const double gamma = config_.hydro.gamma;
    if (gamma != 5.0 / 3.0) {
      const double expansion = a_ * a_ * background_.hubble(a_) * (2.0 - 3.0 * (gamma - 1.0));
      solvers::expansion_source(gas_, std::exp(expansion * dtau));
    }
  });
}

void Cosmology::drift_particles(double dtau) {
  timed(seconds_, "particles", [&] { solvers::drift(dtau, particles_); });
  timed(seconds_, "migration", [&] {
    redistribute::migrate(comm_, layout_, geometry_, particles_);
    if (step_ % steps_between_sorts == 0) particle_mesh_.sort(particles_);
  });
}

void Cosmology::solve_gravity() {
  timed(seconds_, "particles", [&] {
    particle_mesh_.deposit(particles_, density_);
    add_gas_density();
  });
  timed(seconds_, "gravity", [&] { gravity_.solve(density_, acceleration_); });
}

void Cosmology::add_gas_density() {
  if (!config_.has_gas) return;
  for (int b = 0; b < density_.blocks(); ++b) {
    const auto total = density_.view(b);
    const auto gas = std::as_const(gas_).view(b);
    core::for_each_cell(density_.box(b),
                        [=](int k, int j, int i) { total(k, j, i) += gas(solvers::density, k, j, i); });
  }
}

Field<double> Cosmology::dark_matter_density() {
  Field<double> density(layout_, comm_.rank());
  particle_mesh_.deposit(particles_, density);
  return density;
}

// `factor` times a component of the gas, divided by its density where asked.
Field<double> Cosmology::gas_quantity(int component, double factor, bool per_mass) const {
  Field<double> quantity(layout_, comm_.rank());
  for (int b = 0; b < quantity.blocks(); ++b) {
    const auto out = quantity.view(b);
    const auto gas = gas_.view(b);
    core::for_each_cell(quantity.box(b), [=](int k, int j, int i) {
      const double value = factor * gas(component, k, j, i);
      out(k, j, i) = per_mass ? value / gas(solvers::density, k, j, i) : value;
    });
  }
  return quantity;
}

mesh::Snapshot Cosmology::snapshot() {
  mesh::Snapshot snapshot;
  snapshot.step = step_;
  snapshot.time = background_.time(a_);
  const auto& p = config_.parameters;
  snapshot.attributes = {{"scale_factor", a_},
                         {"redshift", redshift_},
                         {"time_gyr", snapshot.time * core::units::gyr_per_time_unit},
                         {"box_mpc", config_.run.box_mpc},
                         {"hubble", p.hubble},
                         {"omega_m", p.omega_m},
                         {"omega_b", config_.has_gas ? p.omega_b : 0.0},
                         {"sigma8", p.sigma8},
                         {"ns", p.ns},
                         {"particles", static_cast<double>(config_.particle_lattice().product())}};
  snapshot.geometry = geometry_;
  snapshot.layout = layout_;
  snapshot.particles = &particles_;
  const auto provide = [&](std::string name, std::string unit, auto make) {
    snapshot.add(std::move(name), std::move(unit), [make] { return std::make_shared<const Field<double>>(make()); });
  };
  provide("dark_matter_density", "Msun/Mpc^3", [this] { return dark_matter_density(); });
  if (!config_.has_gas) return snapshot;
  provide("gas_density", "Msun/Mpc^3", [this] { return gas_quantity(solvers::density, 1.0, false); });
  provide("temperature", "K", [this] { return gas_quantity(solvers::internal_energy, temperature_factor(), true); });
  for (int axis = 0; axis < 3; ++axis)
    provide(fmt::format("velocity_{}", "xyz"[axis]), "km/s",
            [this, axis] { return gas_quantity(solvers::momentum_x + axis, 1.0 / a_, true); });
  return snapshot;
}

void Cosmology::write_plotfile(const io::PlotfileFormat& format, const std::string& path) {
  io::PlotfileContent content;
  content.step = step_;
  content.time = background_.time(a_) - background_.time(solvers::scale_factor(config_.run.z_start));
  content.scale_factor = a_;
  content.omega_m = config_.parameters.omega_m;
  content.omega_lambda = config_.parameters.lambda();
  content.hubble = config_.parameters.hubble;
  content.geometry = geometry_;

  const Field<double> dark_matter = dark_matter_density();
  Field<double> temperature;
  if (config_.has_gas) {
    temperature = gas_quantity(solvers::internal_energy, temperature_factor(), true);
    const double velocity = 1.0 / a_, energy = 1.0 / (a_ * a_);
    content.fields = {{"density", &gas_, solvers::density, 1.0},
                      {"xmom", &gas_, solvers::momentum_x, velocity},
                      {"ymom", &gas_, solvers::momentum_y, velocity},
                      {"zmom", &gas_, solvers::momentum_z, velocity},
                      {"rho_E", &gas_, solvers::total_energy, energy},
                      {"rho_e", &gas_, solvers::internal_energy, energy},
                      {"Temp", &temperature, 0, 1.0}};
  }
  const double potential = 4.0 * std::numbers::pi * core::units::gravitational_constant / a_;
  content.fields.push_back({"phi_grav", &gravity_.potential(), 0, potential});
  content.fields.push_back({"particle_mass_density", &dark_matter, 0, 1.0});
  content.particles = &particles_;
  content.particle_reals.push_back({"mass", nullptr, particles_.mass});
  for (std::size_t axis = 0; axis < 3; ++axis)
    content.particle_reals.push_back(
        {fmt::format("{}vel", "xyz"[axis]), &particles_.attribute(momentum_names[axis]), 1.0 / a_});
  format.write(comm_, path, content);
}

io::CheckpointContent Cosmology::checkpoint() const {
  io::CheckpointContent content;
  content.step = step_;
  content.attributes = {
      {"scale_factor", a_}, {"redshift", redshift_}, {"last_dtau", last_dtau_}, {"particle_mass", particles_.mass}};
  if (config_.has_gas) content.fields.emplace_back("gas", &gas_);
  content.particles = &particles_;
  return content;
}

class CosmologyPlan : public SimulationPlan {
 public:
  explicit CosmologyPlan(CosmologyConfig config) : config_(std::move(config)) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }

  // Gas with its ghost cells, and what gravity and the particles keep; see docs/concepts/cosmology.md.
  double memory_bytes() const override {
    const double block = config_.mesh.block;
    const auto with_ghosts = [&](double ghost) { return std::pow((block + 2.0 * ghost) / block, 3); };
    const double gas = config_.has_gas ? 8.0 * solvers::gas_components * with_ghosts(solvers::hydro_ghost) : 0.0;
    const double gravity = 8.0 + 50.0 + 24.0 * with_ghosts(1), deposit = 8.0 * with_ghosts(1);
    return (gas + gravity + deposit) * static_cast<double>(cells().product()) +
           64.0 * static_cast<double>(config_.particle_lattice().product());
  }

  bool has_redshift() const override { return true; }
  std::vector<std::string> fields() const override {
    if (!config_.has_gas) return {"dark_matter_density"};
    return {"dark_matter_density", "gas_density", "temperature", "velocity_x", "velocity_y", "velocity_z"};
  }

  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    return {{"cells", {n.x, n.y, n.z}},
            {"block", config_.mesh.block},
            {"box_mpc", config_.run.box_mpc},
            {"z_start", config_.run.z_start},
            {"z_end", config_.run.z_end},
            {"omega_m", config_.parameters.omega_m},
            {"hubble", config_.parameters.hubble},
            {"has_gas", config_.has_gas}};
  }

  std::unique_ptr<Simulation> make(const comm::Communicator& compute,
                                   const std::vector<double>& moments) const override {
    return std::make_unique<Cosmology>(config_, compute, moments);
  }

 private:
  CosmologyConfig config_;
};

SimulationEntry entry(const char* name, const char* documentation, bool has_gas) {
  std::vector<std::string> tables{"mesh", "cosmology", "gravity"};
  if (has_gas) tables.push_back("hydro");
  return {name, documentation, tables,
          [has_gas](const core::Node& root, core::Node& resolved) {
            return std::make_unique<CosmologyPlan>(read_cosmology(root, has_gas, resolved));
          },
          [has_gas] { return cosmology_options(has_gas); }};
}

}  // namespace

SimulationEntry cosmology_entry() {
  return entry("cosmology", "gas, dark matter and gravity in an expanding box", true);
}
SimulationEntry nbody_entry() {
  return entry("nbody", "dark matter alone in an expanding box", false);
}

}  // namespace sidestream::sims
