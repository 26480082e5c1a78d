#include "sims/cosmology/cosmology.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/cosmology/cosmology_config.hpp"
#include "sims/cosmology/initial_universe.hpp"
#include "sims/cosmology/universe.hpp"
#include "sims/cosmology/universe_from_file.hpp"
#include "sims/cosmology/universe_gas.hpp"
#include "sims/files/file_state.hpp"
#include "sims/gas/gas_books.hpp"
#include "sims/gas/gas_edit.hpp"
#include "sims/gas/gas_knobs.hpp"
#include "sims/gas/gas_quantities.hpp"
#include "sims/run/moments.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::momentum_names;

// Of the scale factor in a step, relative; less is lost in the rounding of redshifts.
constexpr double least_expansion = 1e-14;

void check_species(const mesh::Snapshot& file) {
  if (!file.has_particles())
    throw core::Error("the file has no particles", file.source,
                      "begin with a file that has some, or leave `--from` out");
  for (const mesh::Species& species : file.species())
    if (species.name() != mesh::dark_matter)
      throw core::Error(
          fmt::format("the file has particles of the species `{}`, which are not dark matter", species.name()),
          file.source, "this simulation advances dark matter alone: start from a file without others");
}

std::shared_ptr<const solvers::HeatingCooling> heating_of(const CosmologyConfig& config) {
  return config.heating ? std::make_shared<const solvers::HeatingCooling>(*config.heating, config.parameters) : nullptr;
}

couple::Landings with_onsets(couple::Landings landings, const solvers::HeatingCooling* heating) {
  if (heating != nullptr)
    for (const double redshift : heating->onsets()) landings.redshifts.push_back(redshift);
  return landings;
}

/// A universe in its background: chooses the steps, and shows the state in the units of analyses and files.
class Cosmology : public Simulation {
 public:
  Cosmology(const CosmologyConfig& config, const comm::Communicator& comm, const couple::Landings& landings,
            core::Bill& bill)
      : config_(config),
        comm_(comm),
        background_(config.parameters),
        heating_(heating_of(config)),
        moments_(with_onsets(landings, heating_.get()), background_, config.run.z_end),
        balance_(config.hydro.gamma),
        books_(config.heating.has_value()),
        bill_(bill) {}

  // Refines until the initial state asks for no more.
  void initialize() override {
    core::timed(bill_, "initial conditions", [&] {
      set_redshift(config_.run.z_start);
      UniverseState start = config_.run.initial_file.empty() ? initial_universe(comm_, config_, background_, a_)
                                                             : universe_from_file(comm_, config_, background_, a_);
      universe_.emplace(comm_, config_, background_, heating_, std::move(start), bill_);
      for (int round = 0; round < config_.amr.max_level; ++round)
        if (!universe_->adapt(a_)) break;
      if (!universe_->refusal().empty())
        throw core::Error(universe_->refusal(), "", "raise `amr.max_blocks`, lower `amr.max_level` or refine less");
    });
    begin();
    measure_energies();
    if (config_.has_gas) start_mass_ = universe_->gas_mass();
  }

  void restore(const mesh::Snapshot& state) override;
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override { return hierarchy_for(file); }
  mesh::Hierarchy hierarchy_for(const mesh::Snapshot& file) const {
    if (file.length_unit == "cm")
      throw core::Error("the lengths of the file are in cm", file.source,
                        "start from a file of Sidestream or Nyx, or convert it first");
    check_mesh(file, config_.mesh, config_.amr.max_level);
    check_species(file);
    const mesh::Forest forest = io::forest_of(file, config_.mesh.block);
    return {forest, config_.geometry(), comm_.size(), amr::block_costs(forest)};
  }

  void advance() override {
    NextStep next;
    core::timed(bill_, "time step", [&] { next = choose_step(); });
    const bool adapts = config_.amr.max_level > 0 && (step_ + 1) % config_.amr.regrid_every == 0;
    const double dtau = universe_->advance(a_, solvers::scale_factor(next.redshift), adapts);
    last_dtau_ = next.uncut_dtau.value_or(dtau);
    if (config_.has_gas) books_.enter(comm_, universe_->take_books(), universe_->take_heating_books());
    if (config_.heating) require_sound(comm_, universe_->heating_problem(), place(), heating_hint);
    set_redshift(next.redshift);
    ++step_;
    balance_.follow(a_, books_.energy());
    if (balance_.is_due(step_, a_) || is_complete()) measure_energies();
  }

  void check_state() const override {
    const std::string problem = universe_->problem(a_);
    require_sound(comm_, problem.empty() ? books_.problem() : problem, place(),
                  config_.has_gas ? gas_hint : particles_hint);
  }

  mesh::Moment moment() const override { return {step_, background_.time(a_), a_, {{"redshift", redshift_}}}; }
  double progress() const override {
    if (redshift_ <= config_.run.z_end) return 1.0;
    const double first = core::log(solvers::scale_factor(config_.run.z_start));
    const double last = core::log(solvers::scale_factor(config_.run.z_end));
    return (core::log(a_) - first) / (last - first);
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
  std::vector<couple::Knob> knobs() override;
  std::vector<couple::EditableQuantity> editable() const override {
    return config_.has_gas ? editable_gas(config_.gas_units(a_)) : std::vector<couple::EditableQuantity>{};
  }
  nlohmann::json edit(const couple::RegionEdit& edit) override;

 private:
  using Levels = std::vector<Field<double>>;
  struct NextStep {
    double redshift = 0.0;               // at its end
    std::optional<double> uncut_dtau{};  // where it is cut so as to land on a moment
  };

  void begin() {
    check_state();
    universe_->solve_gravity();
  }
  std::string place() const { return fmt::format("step {}, z = {:.6g}", step_, redshift_); }
  void measure_energies();
  NextStep choose_step();
  void set_redshift(double redshift) {
    redshift_ = redshift;
    a_ = solvers::scale_factor(redshift);
  }
  int finest_level() const { return universe_->finest_level(); }
  mesh::Particles gathered_particles() const;
  void add_dark_matter(mesh::Snapshot& snapshot);
  void add_particles(mesh::Snapshot& snapshot);
  UniverseState read_state(const mesh::Snapshot& file) const;
  template <typename F>
  auto on_levels(F value_of) const {
    std::vector<decltype(value_of(0))> levels;
    for (int level = 0; level <= finest_level(); ++level) levels.push_back(value_of(level));
    return levels;
  }

  CosmologyConfig config_;
  const comm::Communicator& comm_;
  solvers::Background background_;
  std::shared_ptr<const solvers::HeatingCooling> heating_;  // null: there is none
  Moments moments_;
  std::optional<Universe> universe_;

  EnergyBalance balance_;

  std::int64_t step_ = 0;
  double redshift_ = 0.0, a_ = 1.0, dt_myr_ = 0.0, start_mass_ = 0.0;
  double last_dtau_ = 0.0;  // of the last step, as it was before it was cut
  std::string limit_ = "start";
  GasBooks books_;
  core::Bill& bill_;
};

std::vector<couple::Knob> Cosmology::knobs() {
  const std::vector<core::Option> own = cosmology_options(config_.has_gas).at("cosmology");
  const auto option = [&](const char* key) { return couple::option_of(own, "cosmology", key); };
  const auto take_up = [this] {
    if (universe_) universe_->take_up_scheme();
  };
  std::vector<couple::Knob> all = refinement_knobs(config_.amr, take_up);
  core::Option particle_cfl = option("particle_cfl");
  if (config_.amr.max_level > 0) particle_cfl.maximum = largest_refined_particle_cfl;
  all.push_back(couple::make_knob(std::move(particle_cfl), config_.run.particle_cfl));
  all.push_back(couple::make_knob(option("largest_expansion"), config_.run.largest_expansion));
  all.push_back(couple::make_knob(option("step_growth"), config_.run.step_growth));
  if (config_.has_gas) std::ranges::move(gas_knobs(config_.hydro, take_up), std::back_inserter(all));
  return all;
}

// What it adds to the sums that are kept is no error of theirs.
nlohmann::json Cosmology::edit(const couple::RegionEdit& edit) {
  const Energies before = universe_->energies(a_);
  const double mass = universe_->gas_mass();
  const std::int64_t cells = universe_->edit(edit, config_.gas_units(a_));
  const Energies after = universe_->energies(a_);
  const double added = universe_->gas_mass() - mass;
  if (balance_.scale_factor() != a_) balance_.add(step_, a_, before, books_.energy());
  balance_.allow(after);
  start_mass_ += added;
  return {{"cells", cells}, {"added", {{"mass", added}, {"energy", after.total() - before.total()}}}};
}

// The attribute that holds the momentum along an axis, from whatever a file has: momenta of our own checkpoints, or
// proper peculiar velocities.
std::vector<double> momenta(mesh::Particles& particles, const std::string& file, std::size_t axis, double a) {
  const std::string letter(1, "xyz"[axis]);
  for (auto& [name, unit, values] : particles.attributes) {
    const bool is_momentum = name == momentum_names[axis];
    if (!is_momentum && name != letter + "vel" && name != "vel" + letter && name != "particle_velocity_" + letter)
      continue;
    const double factor = is_momentum ? 1.0 : a;
    if (factor != 1.0)
      for (double& value : values) value *= factor;
    return std::move(values);
  }
  throw core::Error("the particles of the file have no velocities", file,
                    "a run starts from particles with positions and velocities");
}

// Masses that differ are kept as fractions of the largest.
void set_masses(mesh::Particles& particles, mesh::Particles& from, double largest) {
  particles.mass = from.mass > 0.0 ? from.mass : largest;
  for (auto& [name, unit, values] : from.attributes) {
    const bool are_masses = name == "mass" && from.mass == 0.0;
    if (!are_masses && name != solvers::mass_fraction_name) continue;
    if (are_masses)
      for (double& value : values) value /= largest;
    particles.attributes.push_back({solvers::mass_fraction_name, "1", std::move(values)});
  }
}

double largest_mass(const comm::Communicator& comm, const mesh::Particles& particles) {
  double largest = 0.0;
  for (const auto& [name, unit, values] : particles.attributes)
    if (name == "mass" && particles.mass == 0.0)
      for (const double mass : values) largest = std::max(largest, mass);
  return comm.max(largest);
}

UniverseState Cosmology::read_state(const mesh::Snapshot& file) const {
  UniverseState state{hierarchy_for(file), {}, {}, {}};
  const bool is_exact = !file.state_numbers.empty();
  for (int level = 0; level <= state.hierarchy.finest_level(); ++level) {
    const mesh::Layout& layout = state.hierarchy.layout(level);
    if (config_.has_gas)
      state.gas.emplace_back(layout, comm_.rank(), solvers::gas_components, solvers::hydro_ghosts(layout.domain()));
    if (config_.amr.max_level > 0 && is_exact && file.has("potential"))
      state.potentials.emplace_back(layout, comm_.rank());
  }
  GasFactors factors;
  factors.gamma = config_.hydro.gamma;
  factors.velocity = is_exact ? 1.0 : a_;
  factors.specific_energy = factors.velocity * factors.velocity;
  factors.temperature = 1.0 / (config_.temperature_factor(a_) * a_ * a_);
  if (config_.has_gas) read_gas(comm_, file, factors, state.gas);
  if (!state.potentials.empty()) read_levels(file, "potential", state.potentials);
  mesh::Particles from = file.species(mesh::dark_matter).take();
  const double largest = largest_mass(comm_, from);
  comm_.agree_on([&] {
    mesh::Particles& particles = state.particles.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis)
      particles.attributes.push_back({momentum_names[axis], "km/s", momenta(from, file.source, axis, a_)});
    set_masses(particles, from, largest);
    particles.id = std::move(from.id);
    particles.position = std::move(from.position);
  });
  mesh::Particles none = state.particles.front();
  none.resize(0);
  state.particles.resize(static_cast<std::size_t>(state.hierarchy.finest_level()) + 1, none);
  redistribute::migrate_levels(comm_, state.hierarchy, state.particles, 0, solvers::cloud_margin);
  return state;
}

void Cosmology::restore(const mesh::Snapshot& state) {
  core::timed(bill_, "restart", [&] {
    const std::map<std::string, double>& kept = state.state_numbers;
    const bool is_own = kept.contains("last_dtau");
    step_ = state.moment.step;
    a_ = state.moment.scale_factor.value_or(1.0);
    redshift_ = is_own ? kept.at("redshift") : solvers::redshift(a_);
    last_dtau_ = is_own ? kept.at("last_dtau") : 0.0;
    universe_.emplace(comm_, config_, background_, heating_, read_state(state), bill_);
    if (config_.has_gas) start_mass_ = is_own ? kept.at("start_mass") : universe_->gas_mass();
    if (is_own) books_.restore(kept);
    if (kept.contains("energy_start")) balance_.restore(kept);
  });
  begin();
  if (balance_.scale_factor() == 0.0) measure_energies();
}

void Cosmology::measure_energies() {
  core::timed(bill_, "energies", [&] { balance_.add(step_, a_, universe_->energies(a_), books_.energy()); });
}

// The supercomoving step allowed by gas, particles, expansion and the step before, cut so as to land on the next
// moment. What output cuts off says nothing of the state, so the step after may be as long as if it had not been cut.
Cosmology::NextStep Cosmology::choose_step() {
  const double expanded = a_ * (1.0 + config_.run.largest_expansion);
  std::vector<StepLimit> limits = universe_->step_limits(a_);
  limits.push_back({background_.drift_integral(a_, expanded), "expansion"});
  if (last_dtau_ > 0.0) limits.push_back({config_.run.step_growth * last_dtau_, "growth"});
  const StepLimit least = *std::ranges::min_element(limits, {}, &StepLimit::dtau);

  const double landing = moments_.next(moment());
  const double left = background_.drift_integral(a_, solvers::scale_factor(landing));
  const bool lands = least.dtau >= left, is_cut = lands || 2.0 * least.dtau > left;
  NextStep next{landing, is_cut ? std::optional(least.dtau) : std::nullopt};
  limit_ = least.name;
  if (!lands) {
    // Two equal steps rather than a long one and a sliver.
    const double dtau = is_cut ? 0.5 * left : least.dtau;
    const double after = background_.scale_factor_after(a_, dtau);
    if (!(after / a_ - 1.0 > least_expansion)) {
      check_state();
      refuse_step(comm_, least.dtau, limit_, place());
    }
    next.redshift = solvers::redshift(after);
  } else {
    limit_ = "moment";
  }
  dt_myr_ = (background_.time(solvers::scale_factor(next.redshift)) - background_.time(a_)) *
            core::units::gyr_per_time_unit * 1e3;
  return next;
}

// Near the side of a level a particle is with a coarser block than the leaf it is in, which another rank may own.
mesh::Particles Cosmology::gathered_particles() const {
  std::vector<mesh::Particles> levels;
  for (int level = 0; level <= finest_level(); ++level) levels.push_back(universe_->particles(level));
  redistribute::migrate_levels(comm_, universe_->hierarchy(), levels);
  for (std::size_t level = 1; level < levels.size(); ++level) mesh::append(levels[level], levels.front());
  return std::move(levels.front());
}

mesh::Snapshot Cosmology::snapshot() {
  mesh::Snapshot snapshot;
  snapshot.moment = moment();
  snapshot.moment.attributes = {{"redshift", redshift_},
                                {"time_gyr", snapshot.moment.time * core::units::gyr_per_time_unit},
                                {"particles", static_cast<double>(universe_->total_particles())}};
  tell_universe(config_, snapshot.moment);
  const mesh::Hierarchy& hierarchy = universe_->hierarchy();
  snapshot.geometry = hierarchy.geometry(0);
  snapshot.length_unit = "Mpc";
  snapshot.gamma = config_.hydro.gamma;
  snapshot.rank = comm_.rank();
  for (int level = 0; level <= finest_level(); ++level) {
    snapshot.levels.push_back(hierarchy.leaf_layout(level));
    if (finest_level() > 0) snapshot.with_refined.push_back(hierarchy.layout(level));
  }
  snapshot.state_numbers = {{"redshift", redshift_}, {"last_dtau", last_dtau_}, {"start_mass", start_mass_}};
  if (config_.has_gas) books_.store(snapshot.state_numbers);
  snapshot.state_numbers.merge(balance_.attributes());
  add_dark_matter(snapshot);
  if (config_.has_gas)
    add_gas(universe_gas(config_, a_, heating_),
            on_levels([&](int level) { return mesh::FieldView<const double>(universe_->gas(level)); }), snapshot);
  add_particles(snapshot);
  return snapshot;
}

void Cosmology::add_dark_matter(mesh::Snapshot& snapshot) {
  const std::vector<mesh::Quantity> table = cosmology_quantities(config_);
  const auto quantity = [&](const std::string& name) { return *std::ranges::find(table, name, &mesh::Quantity::name); };
  const auto density = [this, levels = std::make_shared<Levels>()](int level) {
    if (levels->empty()) *levels = universe_->dark_matter_density();
    return std::shared_ptr<const Field<double>>(levels, &(*levels)[static_cast<std::size_t>(level)]);
  };
  snapshot.add(quantity("dark_matter_density"), [density](int level) { return mesh::AnyField(density(level)); });
  const double mean = config_.parameters.matter_density() - config_.gas_mean_density();
  snapshot.add(quantity("dark_matter_overdensity"), [density, unit = 1.0 / mean](int level) {
    const auto from = density(level);
    auto field = std::make_shared<Field<double>>(from->layout(), from->rank());
    std::ranges::transform(from->all(), field->all().begin(), [=](double value) { return unit * value; });
    return mesh::AnyField(field);
  });
  snapshot.add_stored(quantity("potential"),
                      on_levels([&](int level) { return mesh::FieldView<const double>(universe_->potential(level)); }),
                      0, 4.0 * std::numbers::pi * core::units::gravitational_constant / a_);
}

// In Msun and km/s, with proper peculiar velocities.
void Cosmology::add_particles(mesh::Snapshot& snapshot) {
  mesh::Species species = finest_level() == 0
                              ? mesh::Species(mesh::dark_matter, &universe_->particles(0))
                              : mesh::Species(mesh::dark_matter, [this] { return gathered_particles(); });
  species.stored = on_levels([&](int level) {
    return std::shared_ptr<const mesh::Particles>(std::shared_ptr<void>(), &universe_->particles(level));
  });
  const mesh::Particles& first = universe_->particles(0);
  const std::string fraction = solvers::has_mass_fractions(first) ? solvers::mass_fraction_name : "";
  species.numbers = {{"mass", "Msun", fraction, first.mass}};
  for (std::size_t axis = 0; axis < 3; ++axis)
    species.numbers.push_back({fmt::format("{}vel", "xyz"[axis]), "km/s", momentum_names[axis], 1.0 / a_});
  snapshot.add_species(std::move(species));
}

}  // namespace

std::unique_ptr<Simulation> make_cosmology(const CosmologyConfig& config, const comm::Communicator& comm,
                                           const couple::Landings& landings, core::Bill& bill) {
  return std::make_unique<Cosmology>(config, comm, landings, bill);
}

}  // namespace sidestream::sims
