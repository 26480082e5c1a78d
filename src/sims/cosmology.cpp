#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "cosmology_config.hpp"
#include "gas_quantity.hpp"
#include "initial_universe.hpp"
#include "leaf_field.hpp"
#include "moments.hpp"
#include "part_timer.hpp"
#include "registry.hpp"
#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "universe.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::momentum_names;

/// A universe in its background: chooses the steps, and shows the state in the units of analyses and files.
class Cosmology : public Simulation {
 public:
  Cosmology(const CosmologyConfig& config, const comm::Communicator& comm, const std::vector<double>& moments)
      : config_(config), comm_(comm), background_(config.parameters), moments_(moments, config.run.z_end) {}

  // Refines until the initial state asks for no more.
  void initialize() override {
    timed(seconds_, "initial conditions", [&] {
      set_redshift(config_.run.z_start);
      universe_.emplace(comm_, config_, background_, initial_universe(comm_, config_, background_, a_), seconds_);
      for (int round = 0; round < config_.amr.max_level; ++round)
        if (!universe_->adapt(a_)) break;
      if (!universe_->refusal().empty())
        throw core::Error(universe_->refusal(), "", "raise `amr.max_blocks`, lower `amr.max_level` or refine less");
    });
    begin();
    if (config_.has_gas) start_mass_ = universe_->gas_mass();
  }

  void restore(const io::Checkpoint& checkpoint) override;

  void advance() override {
    const double next_redshift = choose_step();
    const bool adapts = config_.amr.max_level > 0 && (step_ + 1) % config_.amr.regrid_every == 0;
    last_dtau_ = universe_->advance(a_, solvers::scale_factor(next_redshift), adapts);
    set_redshift(next_redshift);
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
  std::string stop_reason() const override { return universe_->refusal(); }

  nlohmann::json status() const override {
    nlohmann::json status{{"scale_factor", a_},
                          {"time_gyr", background_.time(a_) * core::units::gyr_per_time_unit},
                          {"dt_myr", dt_myr_},
                          {"dt_limit", limit_},
                          {"particles", universe_->total_particles()}};
    if (config_.has_gas) status["floored_cells"] = universe_->floored_cells();
    if (config_.amr.max_level == 0) return status;
    const mesh::Forest& forest = universe_->hierarchy().forest();
    std::vector<std::int32_t> blocks;
    for (int level = 0; level <= forest.finest_level(); ++level) blocks.push_back(forest.size(level));
    status["blocks"] = blocks;
    status["leaves"] = forest.leaves();
    return status;
  }

  nlohmann::json summary() const override {
    if (!config_.has_gas) return nlohmann::json::object();
    return {{"gas_mass_error", std::abs(universe_->gas_mass() / start_mass_ - 1.0)},
            {"cell_updates", comm_.sum(universe_->cell_updates())}};
  }

  mesh::Snapshot snapshot() override;
  void write_plotfile(const io::PlotfileFormat& format, const std::string& path) override;
  io::CheckpointContent checkpoint() const override;
  const PartSeconds& seconds() const override { return seconds_; }

 private:
  using Levels = std::vector<Field<double>>;

  void begin() { universe_->solve_gravity(); }
  double choose_step();
  void set_redshift(double redshift) {
    redshift_ = redshift;
    a_ = solvers::scale_factor(redshift);
  }
  int finest_level() const { return universe_->finest_level(); }
  void gather_particles();
  static std::string level_name(const char* quantity, int level) { return fmt::format("{}.level{}", quantity, level); }

  CosmologyConfig config_;
  const comm::Communicator& comm_;
  solvers::Background background_;
  Moments moments_;
  std::optional<Universe> universe_;
  mesh::Particles all_particles_;  // of all levels, for the snapshot of a refined mesh

  std::int64_t step_ = 0;
  double redshift_ = 0.0, a_ = 1.0, last_dtau_ = 0.0, dt_myr_ = 0.0, start_mass_ = 0.0;
  std::string limit_ = "start";
  PartSeconds seconds_;
};

// The quantity that is there with and without gas tells the blocks.
void Cosmology::restore(const io::Checkpoint& checkpoint) {
  timed(seconds_, "restart", [&] {
    step_ = checkpoint.step();
    set_redshift(checkpoint.attribute("redshift"));
    a_ = checkpoint.attribute("scale_factor");
    last_dtau_ = checkpoint.attribute("last_dtau");
    start_mass_ = checkpoint.attribute("start_mass");
    std::vector<mesh::Layout> layouts;
    const char* const quantity = config_.has_gas ? "gas" : "potential";
    for (int level = 0; checkpoint.has_field(level_name(quantity, level)); ++level)
      layouts.push_back(checkpoint.layout(level_name(quantity, level)));
    const mesh::Forest forest(config_.mesh.extent(), config_.mesh.block, config_.geometry().periodic,
                              io::refined_blocks(layouts));
    UniverseState state{{forest, config_.geometry(), comm_.size(), amr::block_costs(forest)}, {}, {}, {}};
    mesh::Particles particles = checkpoint.read_particles();
    particles.mass = checkpoint.attribute("particle_mass");
    for (int level = 0; level <= forest.finest_level(); ++level) {
      state.particles.push_back(particles);
      particles.resize(0);
      if (config_.amr.max_level > 0 && checkpoint.has_field(level_name("potential", level))) {
        state.potentials.emplace_back(state.hierarchy.layout(level), comm_.rank());
        checkpoint.read_field(level_name("potential", level), state.potentials.back());
      }
      if (!config_.has_gas) continue;
      state.gas.emplace_back(state.hierarchy.layout(level), comm_.rank(), solvers::gas_components,
                             solvers::hydro_ghost);
      checkpoint.read_field(level_name("gas", level), state.gas.back());
    }
    redistribute::migrate_levels(comm_, state.hierarchy, state.particles);
    universe_.emplace(comm_, config_, background_, std::move(state), seconds_);
  });
  begin();
}

// The supercomoving step allowed by gas, particles, expansion and the step before, cut so as to land on the next
// moment.
double Cosmology::choose_step() {
  const double expanded = a_ * (1.0 + config_.run.largest_expansion);
  std::vector<StepLimit> limits = universe_->step_limits(a_);
  limits.push_back({background_.drift_integral(a_, expanded), "expansion"});
  if (last_dtau_ > 0.0) limits.push_back({config_.run.step_growth * last_dtau_, "growth"});
  const StepLimit least = *std::ranges::min_element(limits, {}, &StepLimit::dtau);

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

void Cosmology::gather_particles() {
  all_particles_ = universe_->particles(0);
  for (int level = 1; level <= finest_level(); ++level) mesh::append(universe_->particles(level), all_particles_);
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
                         {"particles", static_cast<double>(universe_->total_particles())}};
  const mesh::Hierarchy& hierarchy = universe_->hierarchy();
  snapshot.geometry = hierarchy.geometry(0);
  for (int level = 0; level <= finest_level(); ++level) snapshot.levels.push_back(hierarchy.leaf_layout(level));
  if (finest_level() > 0) gather_particles();
  snapshot.particles = finest_level() > 0 ? &all_particles_ : &universe_->particles(0);

  const auto density = std::make_shared<Levels>();
  snapshot.add("dark_matter_density", "Msun/Mpc^3", [this, density](int level) {
    if (density->empty()) *density = universe_->dark_matter_density();
    return std::make_shared<const Field<double>>(leaf_field(universe_->hierarchy(), level, comm_.rank(), [&](int b) {
      return std::as_const((*density)[static_cast<std::size_t>(level)]).view(b);
    }));
  });
  for (const std::string& name : cosmology_fields(config_.has_gas)) {
    if (name == "dark_matter_density") continue;
    const char* const unit = name == "gas_density" ? "Msun/Mpc^3" : name == "temperature" ? "K" : "km/s";
    snapshot.add(name, unit, [this, name](int level) {
      const auto value_of = [&](int b) {
        return [gas = universe_->gas(level).view(b), value = GasQuantity(config_, name, a_)](int k, int j, int i) {
          return value(gas, k, j, i);
        };
      };
      return std::make_shared<const Field<double>>(leaf_field(universe_->hierarchy(), level, comm_.rank(), value_of));
    });
  }
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
  content.geometry = universe_->hierarchy().geometry(0);

  const auto on_levels = [&](auto field_of) {
    std::vector<decltype(field_of(0))> levels;
    for (int level = 0; level <= finest_level(); ++level) levels.push_back(field_of(level));
    return levels;
  };
  const Levels dark_matter = universe_->dark_matter_density();
  Levels temperature;
  if (config_.has_gas) {
    temperature = universe_->gas_quantity("temperature", a_);
    const auto gas = on_levels([&](int level) { return &universe_->gas(level); });
    const double velocity = 1.0 / a_, energy = 1.0 / (a_ * a_);
    content.fields = {{"density", gas, solvers::density, 1.0},
                      {"xmom", gas, solvers::momentum_x, velocity},
                      {"ymom", gas, solvers::momentum_y, velocity},
                      {"zmom", gas, solvers::momentum_z, velocity},
                      {"rho_E", gas, solvers::total_energy, energy},
                      {"rho_e", gas, solvers::internal_energy, energy},
                      {"Temp", on_levels([&](int level) {
                         return static_cast<const Field<double>*>(&temperature[static_cast<std::size_t>(level)]);
                       }),
                       0, 1.0}};
  }
  const double potential = 4.0 * std::numbers::pi * core::units::gravitational_constant / a_;
  content.fields.push_back(
      {"phi_grav", on_levels([&](int level) { return &universe_->potential(level); }), 0, potential});
  content.fields.push_back({"particle_mass_density",
                            on_levels([&](int level) { return &dark_matter[static_cast<std::size_t>(level)]; }), 0,
                            1.0});
  content.particles = on_levels([&](int level) { return &universe_->particles(level); });
  const auto attribute = [&](const std::string& name) {
    return on_levels([&](int level) { return &universe_->particles(level).attribute(name); });
  };
  content.particle_reals.push_back({"mass", {}, universe_->particles(0).mass});
  if (solvers::has_mass_fractions(universe_->particles(0)))
    content.particle_reals.back().levels = attribute(solvers::mass_fraction_name);
  for (std::size_t axis = 0; axis < 3; ++axis)
    content.particle_reals.push_back({fmt::format("{}vel", "xyz"[axis]), attribute(momentum_names[axis]), 1.0 / a_});
  format.write(comm_, path, content);
}

io::CheckpointContent Cosmology::checkpoint() const {
  io::CheckpointContent content;
  content.step = step_;
  content.attributes = {{"scale_factor", a_},
                        {"redshift", redshift_},
                        {"last_dtau", last_dtau_},
                        {"start_mass", start_mass_},
                        {"particle_mass", universe_->particles(0).mass}};
  for (int level = 0; level <= finest_level(); ++level) {
    if (config_.has_gas) content.fields.emplace_back(level_name("gas", level), &universe_->gas(level));
    if (config_.amr.max_level > 0)
      content.fields.emplace_back(level_name("potential", level), &universe_->potential(level));
    content.particles.push_back(&universe_->particles(level));
  }
  return content;
}

class CosmologyPlan : public SimulationPlan {
 public:
  explicit CosmologyPlan(CosmologyConfig config) : config_(std::move(config)) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }

  // A refined mesh may grow to its budget of blocks, but not beyond the finest level everywhere.
  double memory_bytes() const override {
    const double block_cells = std::pow(config_.mesh.block, 3);
    double blocks = 0.0;
    for (int level = 0; level <= config_.amr.max_level; ++level)
      blocks += static_cast<double>(cells().product()) / block_cells * std::pow(8.0, level);
    if (config_.amr.max_level > 0) blocks = std::min(blocks, static_cast<double>(config_.amr.max_blocks));
    return config_.bytes_per_cell() * blocks * block_cells +
           64.0 * static_cast<double>(config_.particle_lattice().product());
  }

  bool has_redshift() const override { return true; }
  std::vector<std::string> fields() const override { return cosmology_fields(config_.has_gas); }

  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    return {{"cells", {n.x, n.y, n.z}},
            {"block", config_.mesh.block},
            {"max_level", config_.amr.max_level},
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
  std::vector<std::string> tables{"mesh", "amr", "refine", "cosmology", "gravity"};
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
