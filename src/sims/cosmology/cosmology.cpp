#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sims/cosmology/cosmology_config.hpp"
#include "sims/cosmology/gas_quantity.hpp"
#include "sims/cosmology/initial_matter.hpp"
#include "sims/cosmology/initial_universe.hpp"
#include "sims/cosmology/universe.hpp"
#include "sims/cosmology/universe_from_file.hpp"
#include "sims/gas/gas_books.hpp"
#include "sims/registry.hpp"
#include "sims/run/file_state.hpp"
#include "sims/run/moments.hpp"
#include "sims/run/soundness.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::momentum_names;

// Of the scale factor in a step, relative; less is lost in the rounding of redshifts.
constexpr double least_expansion = 1e-14;

/// A universe in its background: chooses the steps, and shows the state in the units of analyses and files.
class Cosmology : public Simulation {
 public:
  Cosmology(const CosmologyConfig& config, const comm::Communicator& comm, const couple::Landings& landings,
            core::Bill& bill)
      : config_(config),
        comm_(comm),
        background_(config.parameters),
        moments_(landings, background_, config.run.z_end),
        balance_(config.hydro.gamma),
        bill_(bill) {}

  // Refines until the initial state asks for no more.
  void initialize() override {
    core::timed(bill_, "initial conditions", [&] {
      set_redshift(config_.run.z_start);
      UniverseState start = config_.run.initial_file.empty() ? initial_universe(comm_, config_, background_, a_)
                                                             : universe_from_file(comm_, config_, background_, a_);
      universe_.emplace(comm_, config_, background_, std::move(start), bill_);
      for (int round = 0; round < config_.amr.max_level; ++round)
        if (!universe_->adapt(a_)) break;
      if (!universe_->refusal().empty())
        throw core::Error(universe_->refusal(), "", "raise `amr.max_blocks`, lower `amr.max_level` or refine less");
    });
    begin();
    measure_energies();
    if (config_.has_gas) start_mass_ = universe_->gas_mass();
  }

  void restore(const io::SnapshotFile& file) override;

  void advance() override {
    double next_redshift = 0.0;
    core::timed(bill_, "time step", [&] { next_redshift = choose_step(); });
    const bool adapts = config_.amr.max_level > 0 && (step_ + 1) % config_.amr.regrid_every == 0;
    last_dtau_ = universe_->advance(a_, solvers::scale_factor(next_redshift), adapts);
    if (config_.has_gas) books_.enter(comm_, universe_->take_books());
    set_redshift(next_redshift);
    ++step_;
    if (balance_.is_due(step_, a_) || is_complete()) measure_energies();
  }

  void check_state() const override {
    const std::string problem = universe_->problem(a_);
    require_sound(comm_, problem.empty() ? books_.problem() : problem, place());
  }

  mesh::Moment moment() const override { return {step_, background_.time(a_), a_, {{"redshift", redshift_}}}; }
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
    if (config_.has_gas) {
      status["floored_cells"] = books_.floored_cells();
      status["booked"] = books_.to_json();
    }
    if (balance_.scale_factor() == a_) status["energy"] = balance_.to_json();
    if (config_.amr.max_level == 0) return status;
    const mesh::Forest& forest = universe_->hierarchy().forest();
    std::vector<std::int32_t> blocks;
    for (int level = 0; level <= forest.finest_level(); ++level) blocks.push_back(forest.size(level));
    status["blocks"] = blocks;
    status["leaves"] = forest.leaves();
    return status;
  }

  nlohmann::json summary() const override {
    nlohmann::json summary{{"energy", balance_.to_json()}};
    if (!config_.has_gas) return summary;
    summary["gas_mass_error"] = std::abs(universe_->gas_mass() / start_mass_ - 1.0);
    summary["cell_updates"] = comm_.sum(universe_->cell_updates());
    return summary;
  }

  mesh::Snapshot snapshot() override;
  io::OwnedContent plot(const std::vector<std::string>& variables) override;
  io::FileContent checkpoint() const override;

 private:
  using Levels = std::vector<Field<double>>;

  void begin() {
    check_state();
    universe_->solve_gravity();
  }
  std::string place() const { return fmt::format("step {}, z = {:.6g}", step_, redshift_); }
  void measure_energies();
  double choose_step();
  void set_redshift(double redshift) {
    redshift_ = redshift;
    a_ = solvers::scale_factor(redshift);
  }
  int finest_level() const { return universe_->finest_level(); }
  void gather_particles();
  io::FileContent file_content() const;
  void add_variable(const std::string& name, io::OwnedContent& plot);
  UniverseState read_state(const io::SnapshotFile& file) const;
  template <typename F>
  auto on_levels(F value_of) const {
    std::vector<decltype(value_of(0))> levels;
    for (int level = 0; level <= finest_level(); ++level) levels.push_back(value_of(level));
    return levels;
  }

  CosmologyConfig config_;
  const comm::Communicator& comm_;
  solvers::Background background_;
  Moments moments_;
  std::optional<Universe> universe_;
  mesh::Particles all_particles_;  // of all levels, for the snapshot of a refined mesh

  EnergyBalance balance_;

  std::int64_t step_ = 0;
  double redshift_ = 0.0, a_ = 1.0, last_dtau_ = 0.0, dt_myr_ = 0.0, start_mass_ = 0.0;
  std::string limit_ = "start";
  GasBooks books_;
  core::Bill& bill_;
};

// The attribute that holds the momentum along an axis, from whatever a file has: momenta of our own checkpoints, or
// proper peculiar velocities.
std::vector<double> momenta(mesh::Particles& particles, const io::FileDescription& file, std::size_t axis, double a) {
  const std::string letter(1, "xyz"[axis]);
  for (const auto& [name, unit] : file.particle_reals) {
    const bool is_momentum = name == momentum_names[axis];
    if (!is_momentum && name != letter + "vel" && name != "vel" + letter && name != "particle_velocity_" + letter)
      continue;
    std::vector<double> values = std::move(particles.attribute(name));
    const double factor = is_momentum ? 1.0 : a;
    if (factor != 1.0)
      for (double& value : values) value *= factor;
    return values;
  }
  throw core::Error("the particles of the file have no velocities", file.path,
                    "a run starts from particles with positions and velocities");
}

// Masses that differ are kept as fractions of the largest.
void set_masses(mesh::Particles& particles, mesh::Particles& from, const io::FileDescription& file, double largest) {
  particles.mass = file.particle_mass > 0.0 ? file.particle_mass : largest;
  for (const auto& [name, unit] : file.particle_reals) {
    if (name == solvers::mass_fraction_name) {
      particles.attributes.push_back({name, "1", std::move(from.attribute(name))});
    } else if (name == "mass" && file.particle_mass == 0.0) {
      std::vector<double> fractions = std::move(from.attribute(name));
      for (double& value : fractions) value /= largest;
      particles.attributes.push_back({solvers::mass_fraction_name, "1", std::move(fractions)});
    }
  }
}

double largest_mass(const comm::Communicator& comm, const mesh::Particles& particles, const io::FileDescription& file) {
  double largest = 0.0;
  for (const auto& [name, unit] : file.particle_reals)
    if (name == "mass" && file.particle_mass == 0.0)
      for (const double mass : particles.attribute(name)) largest = std::max(largest, mass);
  return comm.max(largest);
}

UniverseState Cosmology::read_state(const io::SnapshotFile& file) const {
  const io::FileDescription& description = file.description();
  if (description.length_unit == "cm")
    throw core::Error("the lengths of the file are in cm", description.path,
                      "start from a file of Sidestream or Nyx, or convert it first");
  check_mesh(description, config_.mesh, config_.amr.max_level);
  const io::FileMesh mesh = io::mesh_of(description, config_.mesh.block);
  UniverseState state{{mesh.forest, config_.geometry(), comm_.size(), amr::block_costs(mesh.forest)}, {}, {}, {}};
  for (int level = 0; level <= mesh.forest.finest_level(); ++level) {
    const mesh::Layout& layout = state.hierarchy.layout(level);
    if (config_.has_gas)
      state.gas.emplace_back(layout, comm_.rank(), solvers::gas_components, solvers::hydro_ghosts(layout.domain()));
    if (config_.amr.max_level > 0 && description.is_checkpoint && description.has_field("phi_grav"))
      state.potentials.emplace_back(layout, comm_.rank());
  }
  const bool is_exact = description.is_checkpoint;
  GasFactors factors;
  factors.gamma = config_.hydro.gamma;
  factors.velocity = is_exact ? 1.0 : a_;
  factors.specific_energy = factors.velocity * factors.velocity;
  factors.temperature = 1.0 / (config_.temperature_factor(a_) * a_ * a_);
  if (config_.has_gas) read_gas(file, mesh, factors, state.gas);
  if (!state.potentials.empty()) io::read_levels(file, "phi_grav", mesh, state.potentials, 0);
  if (!description.has_particles) throw core::Error("the file has no particles", description.path);
  return state;
}

void Cosmology::restore(const io::SnapshotFile& file) {
  core::timed(bill_, "restart", [&] {
    const io::FileDescription& description = file.description();
    step_ = description.moment.step;
    const bool is_own = description.is_checkpoint && description.moment.attributes.contains("last_dtau");
    set_redshift(is_own ? description.attribute("redshift")
                        : solvers::redshift(description.moment.scale_factor.value_or(1.0)));
    a_ = description.moment.scale_factor.value_or(1.0);
    last_dtau_ = is_own ? description.attribute("last_dtau") : 0.0;
    std::optional<UniverseState> state;
    mesh::Particles from;
    comm_.agree_on([&] {
      state = read_state(file);
      from = file.read_particles(comm_.rank(), comm_.size());
    });
    const double largest = largest_mass(comm_, from, description);
    comm_.agree_on([&] {
      mesh::Particles& particles = state->particles.emplace_back();
      for (std::size_t axis = 0; axis < 3; ++axis)
        particles.attributes.push_back({momentum_names[axis], "km/s", momenta(from, description, axis, a_)});
      set_masses(particles, from, description, largest);
      particles.id = std::move(from.id);
      particles.position = std::move(from.position);
    });
    mesh::Particles none = state->particles.front();
    none.resize(0);
    state->particles.resize(static_cast<std::size_t>(state->hierarchy.finest_level()) + 1, none);
    redistribute::migrate_levels(comm_, state->hierarchy, state->particles, 0, solvers::cloud_margin);
    universe_.emplace(comm_, config_, background_, std::move(*state), bill_);
    if (config_.has_gas) start_mass_ = is_own ? description.attribute("start_mass") : universe_->gas_mass();
    if (is_own) books_.restore(description.moment.attributes);
    if (description.moment.attributes.contains("energy_start")) balance_.restore(description.moment.attributes);
  });
  begin();
  if (balance_.scale_factor() == 0.0) measure_energies();
}

void Cosmology::measure_energies() {
  core::timed(bill_, "energies", [&] { balance_.add(step_, a_, universe_->energies(a_), books_.energy()); });
}

// The supercomoving step allowed by gas, particles, expansion and the step before, cut so as to land on the next
// moment.
double Cosmology::choose_step() {
  const double expanded = a_ * (1.0 + config_.run.largest_expansion);
  std::vector<StepLimit> limits = universe_->step_limits(a_);
  limits.push_back({background_.drift_integral(a_, expanded), "expansion"});
  if (last_dtau_ > 0.0) limits.push_back({config_.run.step_growth * last_dtau_, "growth"});
  const StepLimit least = *std::ranges::min_element(limits, {}, &StepLimit::dtau);

  const double landing = moments_.next(redshift_);
  const double left = background_.drift_integral(a_, solvers::scale_factor(landing));
  double next = landing;
  limit_ = least.name;
  if (least.dtau < left) {
    // Two equal steps rather than a long one and a sliver.
    const double dtau = 2.0 * least.dtau > left ? 0.5 * left : least.dtau;
    const double after = background_.scale_factor_after(a_, dtau);
    if (!(after / a_ - 1.0 > least_expansion)) {
      check_state();
      refuse_step(comm_, least.dtau, limit_, place());
    }
    next = solvers::redshift(after);
  } else {
    limit_ = "moment";
  }
  dt_myr_ =
      (background_.time(solvers::scale_factor(next)) - background_.time(a_)) * core::units::gyr_per_time_unit * 1e3;
  return next;
}

// Near the side of a level a particle is with a coarser block than the leaf it is in, which another rank may own.
void Cosmology::gather_particles() {
  std::vector<mesh::Particles> levels;
  for (int level = 0; level <= finest_level(); ++level) levels.push_back(universe_->particles(level));
  redistribute::migrate_levels(comm_, universe_->hierarchy(), levels);
  all_particles_ = std::move(levels.front());
  for (std::size_t level = 1; level < levels.size(); ++level) mesh::append(levels[level], all_particles_);
}

mesh::Snapshot Cosmology::snapshot() {
  mesh::Snapshot snapshot;
  snapshot.moment = moment();
  const auto& p = config_.parameters;
  snapshot.moment.attributes = {{"redshift", redshift_},
                                {"time_gyr", snapshot.moment.time * core::units::gyr_per_time_unit},
                                {"box_mpc", config_.run.box_mpc},
                                {"hubble", p.hubble},
                                {"omega_lambda", p.lambda()},
                                {"omega_m", p.omega_m},
                                {"omega_b", config_.has_gas ? p.omega_b : 0.0},
                                {"sigma8", p.sigma8},
                                {"ns", p.ns},
                                {"particles", static_cast<double>(universe_->total_particles())}};
  const mesh::Hierarchy& hierarchy = universe_->hierarchy();
  snapshot.geometry = hierarchy.geometry(0);
  snapshot.rank = comm_.rank();
  for (int level = 0; level <= finest_level(); ++level) snapshot.levels.push_back(hierarchy.leaf_layout(level));
  snapshot.set_particles([this]() -> const mesh::Particles* {
    if (finest_level() == 0) return &universe_->particles(0);
    gather_particles();
    return &all_particles_;
  });

  snapshot.add("dark_matter_density", "Msun/Mpc^3",
               [this, density = std::make_shared<Levels>(), leaves = snapshot.levels](int level) {
                 if (density->empty()) *density = universe_->dark_matter_density();
                 const auto at = static_cast<std::size_t>(level);
                 const std::shared_ptr<const Field<double>> field(density, &(*density)[at]);
                 return mesh::FieldView<const double>(field).on(leaves[at]);
               });
  for (const std::string& name : cosmology_fields(config_.has_gas)) {
    if (name == "dark_matter_density") continue;
    const char* const unit = name == "gas_density" ? "Msun/Mpc^3" : name == "temperature" ? "K" : "km/s";
    snapshot.add_computed(name, unit,
                          [this, value = GasQuantity(config_, name, a_)](int level, const mesh::Box& box,
                                                                         const core::View4<double>& out) {
                            const auto gas = mesh::FieldView<const double>(universe_->gas(level)).view_on(box);
                            core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = value(gas, k, j, i); });
                          });
  }
  return snapshot;
}

io::FileContent Cosmology::file_content() const {
  io::FileContent content;
  content.moment.step = step_;
  content.moment.time = background_.time(a_) - background_.time(solvers::scale_factor(config_.run.z_start));
  content.moment.scale_factor = a_;
  content.omega_m = config_.parameters.omega_m;
  content.omega_lambda = config_.parameters.lambda();
  content.hubble = config_.parameters.hubble;
  content.gamma = config_.hydro.gamma;
  content.geometry = universe_->hierarchy().geometry(0);
  content.length_unit = "Mpc";
  for (int level = 0; level <= finest_level(); ++level) {
    content.levels.push_back(universe_->hierarchy().layout(level));
    content.particles.push_back(&universe_->particles(level));
  }
  return content;
}

const std::vector<std::string>& file_variables(bool has_gas) {
  static const std::vector<std::string> dark{"phi_grav", "particle_mass_density"};
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names = gas_variables();
    for (const char* const derived : {"Temp", "x_velocity", "y_velocity", "z_velocity", "pressure"})
      names.emplace_back(derived);
    names.insert(names.end(), dark.begin(), dark.end());
    return names;
  }();
  return has_gas ? all : dark;
}

const char* unit_of(const std::string& name) {
  if (name == "density" || name == "particle_mass_density") return "Msun/Mpc^3";
  if (name == "Temp") return "K";
  if (name == "phi_grav") return "(km/s)^2";
  if (name.ends_with("velocity")) return "km/s";
  return name.ends_with("mom") ? "Msun/Mpc^3 km/s" : "Msun/Mpc^3 (km/s)^2";
}

// In comoving Msun and Mpc, with proper peculiar velocities.
void Cosmology::add_variable(const std::string& name, io::OwnedContent& plot) {
  io::FileField& field = plot.content.fields.emplace_back(io::FileField{name, unit_of(name), {}, 0, 1.0});
  const auto keep = [&](Levels levels, double factor) {
    field.factor = factor;
    for (Field<double>& level : levels) field.levels.push_back(&plot.fields.emplace_back(std::move(level)));
  };
  const auto conserved = std::ranges::find(gas_variables(), name);
  if (conserved != gas_variables().end()) {
    field.component = static_cast<int>(conserved - gas_variables().begin());
    field.factor = name.ends_with("mom") ? 1.0 / a_ : name.starts_with("rho") ? 1.0 / (a_ * a_) : 1.0;
    field.levels = on_levels([&](int level) { return &universe_->gas(level); });
  } else if (name == "phi_grav") {
    field.factor = 4.0 * std::numbers::pi * core::units::gravitational_constant / a_;
    field.levels = on_levels([&](int level) { return &universe_->potential(level); });
  } else if (name == "particle_mass_density") {
    keep(universe_->dark_matter_density(), 1.0);
  } else if (name.ends_with("_velocity")) {
    keep(universe_->gas_quantity(std::string("velocity_") + name.front(), a_), 1.0);
  } else if (name == "pressure") {
    keep(universe_->gas_quantity("pressure", a_), 1.0 / (a_ * a_));
  } else {
    keep(universe_->gas_quantity("temperature", a_), 1.0);
  }
}

io::OwnedContent Cosmology::plot(const std::vector<std::string>& variables) {
  io::OwnedContent plot;
  plot.content = file_content();
  for (const std::string& name : known_of(variables, file_variables(config_.has_gas))) add_variable(name, plot);
  const auto attribute = [&](const std::string& name) {
    return on_levels([&](int level) { return &universe_->particles(level).attribute(name); });
  };
  auto& reals = plot.content.particle_reals;
  reals.push_back({"mass", "Msun", {}, universe_->particles(0).mass});
  if (solvers::has_mass_fractions(universe_->particles(0)))
    reals.back().levels = attribute(solvers::mass_fraction_name);
  for (std::size_t axis = 0; axis < 3; ++axis)
    reals.push_back({fmt::format("{}vel", "xyz"[axis]), "km/s", attribute(momentum_names[axis]), 1.0 / a_});
  plot.content.particle_precision = io::Precision::single_precision;
  return plot;
}

io::FileContent Cosmology::checkpoint() const {
  io::FileContent content = file_content();
  content.moment.attributes = {{"redshift", redshift_}, {"last_dtau", last_dtau_}, {"start_mass", start_mass_}};
  if (config_.has_gas) books_.store(content.moment.attributes);
  content.moment.attributes.merge(balance_.attributes());
  if (config_.has_gas)
    for (int c = 0; c < solvers::gas_components; ++c)
      content.fields.push_back({gas_variables()[static_cast<std::size_t>(c)], "",
                                on_levels([&](int level) { return &universe_->gas(level); }), c, 1.0});
  if (config_.amr.max_level > 0)
    content.fields.push_back(
        {"phi_grav", "", on_levels([&](int level) { return &universe_->potential(level); }), 0, 1.0});
  for (const mesh::ParticleAttribute& attribute : universe_->particles(0).attributes)
    content.particle_reals.push_back(
        {attribute.name, attribute.unit,
         on_levels([&](int level) { return &universe_->particles(level).attribute(attribute.name); }), 1.0});
  return content;
}

class CosmologyPlan : public SimulationPlan {
 public:
  explicit CosmologyPlan(CosmologyConfig config)
      : config_(std::move(config)), particles_(static_cast<double>(initial_particles(config_))) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }

  // A refined mesh may grow to its budget of blocks, but not beyond the finest level everywhere.
  double memory_bytes() const override {
    const double block_cells = std::pow(config_.mesh.block, 3);
    double blocks = 0.0;
    for (int level = 0; level <= config_.amr.max_level; ++level)
      blocks += static_cast<double>(cells().product()) / block_cells * std::pow(8.0, level);
    if (config_.amr.max_level > 0) blocks = std::min(blocks, static_cast<double>(config_.amr.max_blocks));
    return config_.bytes_per_cell() * blocks * block_cells + 64.0 * particles_;
  }

  // Id, position and momentum.
  double particle_bytes() const override { return 56.0 * particles_; }

  void check_start(bool reads_all) const override {
    if (config_.run.initial_file.empty())
      check_power(config_);
    else
      check_initial_file(config_, reads_all);
  }

  couple::TimeKeeping times() const override {
    static const core::Units units{{"Gyr", 1.0 / core::units::gyr_per_time_unit},
                                   {"Myr", 1e-3 / core::units::gyr_per_time_unit}};
    return {true, &units, 1.0 / core::units::gyr_per_time_unit};
  }
  std::vector<std::string> fields() const override { return cosmology_fields(config_.has_gas); }
  std::vector<std::string> plot_variables() const override { return file_variables(config_.has_gas); }

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

  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override {
    return std::make_unique<Cosmology>(config_, compute, landings, bill);
  }

 private:
  CosmologyConfig config_;
  double particles_;
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
