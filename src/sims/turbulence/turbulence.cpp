#include "sims/turbulence/turbulence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/solvers/spectral/tracers.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/run/moments.hpp"
#include "sims/turbulence/flow_views.hpp"
#include "sims/turbulence/stored_flow.hpp"
#include "sims/turbulence/tracer_physics.hpp"
#include "sims/turbulence/turbulence_config.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;

constexpr const char* flow_hint =
    "look at the start; where it went well for a while, go on from an earlier checkpoint with a smaller "
    "`turbulence.courant` or `turbulence.dt`";
/// A state in a file has less divergence than this over its velocity gradients.
constexpr double most_divergence = 1e-6;
/// One with less was written by such a flow to the bit, or nearly so; one with more in less precision than that of the
/// flow, of which single is the least.
template <typename Real>
constexpr double exact_divergence = std::is_same_v<Real, float> ? most_divergence : 1e-10;

/// A constant power is held to rounding errors, and else told of.
constexpr double least_share_of_power = 0.999;
/// A flow is resolved from this product of wavenumber and Kolmogorov length on.
constexpr double least_resolved = 1.0;

/// Along which a mean of a scalar has gradients.
constexpr std::size_t scalar_axes = 3;

/// Steps may be so much longer than asked for, so that none is next to nothing where times add up with rounding.
constexpr double rounding = 1e-9;

template <typename Real>
class Turbulence final : public Simulation {
 public:
  Turbulence(const TurbulenceConfig& config, const comm::Communicator& comm, const couple::Landings& landings,
             core::Bill& bill)
      : config_(config),
        comm_(comm),
        landings_(landings.times, config.end),
        hierarchy_(mesh::Forest(config.mesh.extent(), config.mesh.block), config.geometry(), comm.size()),
        flow_(comm, config.grid(), config.flow(), bill),
        views_(comm, flow_, config_.scalars, hierarchy_.layout(0)) {
    if (config_.tracers.empty()) return;
    tracers_ = std::make_unique<solvers::Tracers<Real>>(comm, flow_);
    carry_ = [this](const solvers::FlowStage& stage, solvers::Spectrum<Real>& velocity) {
      tracers_->advance(stage, velocity);
    };
  }

  void initialize() override {
    const auto set =
        std::get<solvers::InitialFlowEntry::Set<Real>>(solvers::initial_flows().named(config_.initial.flow).set);
    set(config_.initial, static_cast<std::uint64_t>(config_.seed), comm_, flow_);
    add_mean();
    set_scalars();
    for (const TracerSpecies& species : config_.tracers) scatter(species);
    flow_.project();
    begin({});
    flow_.budget() = {.start = flow_.sums().energy};
  }

  void restore(const mesh::Snapshot& state) override;
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override;

  void advance() override {
    bool lands = false;
    const double landing = landings_.next(time_);
    const auto choose = [&](double rate) {
      double dt = wanted_step(rate);
      lands = time_ + (1.0 + rounding) * dt >= landing;
      return lands ? landing - time_ : dt;
    };
    dt_ = flow_.advance(step_, choose, carry_);
    time_ = lands ? landing : time_ + dt_;
    ++step_;
    least_resolution_ = std::min(least_resolution_, resolution());
  }
  std::vector<core::Error> warnings() override;

  void check_state() const override {
    const bool is_finite = std::ranges::all_of(
        flow_.state().all(), [](const auto& u) { return std::isfinite(u.real()) && std::isfinite(u.imag()); });
    require_sound(comm_, is_finite ? "" : "an amplitude of a wave of the flow is not finite", place(), flow_hint);
  }

  mesh::Moment moment() const override {
    mesh::Moment moment{.step = step_, .time = time_};
    moment.attributes = {{"time", time_}, {"viscosity", config_.viscosity}, {"k_max", config_.grid().largest()}};
    for (const solvers::PassiveScalar& scalar : config_.scalars)
      moment.attributes[scalar.name + "_diffusivity"] = scalar.diffusivity;
    return moment;
  }
  double progress() const override { return time_ >= config_.end ? 1.0 : time_ / config_.end; }
  nlohmann::json status() const override;
  nlohmann::json summary() const override;
  mesh::Snapshot snapshot() override;
  std::vector<couple::Knob> knobs() override;

 private:
  void take_coefficients();
  couple::Knob coefficient(core::Option option, double& variable);
  couple::Knob mean_gradient(solvers::PassiveScalar& scalar);
  std::string place() const { return fmt::format("step {}, time {:.6g}", step_, time_); }
  double wanted_step(double rate);
  void add_mean();
  void set_scalars();
  void scatter(const TracerSpecies& species) {
    tracers_->scatter(species.count, static_cast<std::uint64_t>(species.seed));
  }
  void drop_waves();
  void restore_tracers(const mesh::Snapshot& state);
  void add_tracers(mesh::Snapshot& snapshot);
  void begin(std::span<const double> forcing);
  // kmax eta, eta = (nu^3 / dissipation)^(1/4) (Kolmogorov 1941); infinite for a flow at rest, 0 without viscosity.
  double resolution() const {
    const double nu = config_.viscosity;
    if (nu == 0.0) return 0.0;
    const double ratio = nu * nu * nu / flow_.sums().dissipation;
    return flow_.grid().largest() * std::sqrt(std::sqrt(ratio));
  }

  TurbulenceConfig config_;
  const comm::Communicator& comm_;
  Times landings_;
  mesh::Hierarchy hierarchy_;
  solvers::IncompressibleFlow<Real> flow_;
  FlowViews<Real> views_;
  std::unique_ptr<solvers::Tracers<Real>> tracers_;  // in the order of their tables; null where there are none
  typename solvers::IncompressibleFlow<Real>::Carry carry_;
  std::int64_t step_ = 0;
  double time_ = 0.0, dt_ = 0.0, courant_ = 0.0;
  double least_resolution_ = std::numeric_limits<double>::infinity();
  bool has_told_resolution_ = false, has_told_power_ = false;  // that it is too low
};

template <typename Real>
std::vector<core::Error> Turbulence<Real>::warnings() {
  std::vector<core::Error> all;
  if (const double kmax_eta = resolution(); kmax_eta < least_resolved && !std::exchange(has_told_resolution_, true))
    all.emplace_back(fmt::format("the flow is not resolved: kmax_eta, the highest wavenumber kept times the Kolmogorov "
                                 "length, is {:.3g}, below {:g}",
                                 kmax_eta, least_resolved),
                     place(), "take more cells or a larger `turbulence.viscosity`");
  const double power = flow_.sums().power, wanted = config_.forcing.power;
  const bool is_weak = config_.forcing.kind == "power" && power < least_share_of_power * wanted;
  if (step_ > 0 && is_weak && !std::exchange(has_told_power_, true))
    all.emplace_back(
        fmt::format("the force puts in {:.3g}, not the {:.3g} of `forcing.power`: the waves that it drives "
                    "have less energy than that would put in within a step",
                    power, wanted),
        place(), "it grows with their energy; lower `forcing.power`, or begin with more energy in them");
  return all;
}

// Scalars keep their Schmidt numbers.
template <typename Real>
void Turbulence<Real>::take_coefficients() {
  for (std::size_t s = 0; s < config_.scalars.size(); ++s)
    config_.scalars[s].diffusivity = config_.viscosity / config_.scalar_starts[s].schmidt;
  flow_.set_coefficients(config_.viscosity, config_.scalars, config_.forcing.power);
}

template <typename Real>
couple::Knob Turbulence<Real>::coefficient(core::Option option, double& variable) {
  return couple::make_knob<double>(
      std::move(option), [&variable] { return nlohmann::json(variable); },
      [this, &variable](double value) {
        variable = value;
        take_coefficients();
      });
}

template <typename Real>
couple::Knob Turbulence<Real>::mean_gradient(solvers::PassiveScalar& scalar) {
  couple::Knob knob = couple::make_knob<std::vector<double>>(
      couple::option_of(turbulence_options().at("scalar.NAME"), "scalar." + scalar.name, "mean_gradient"),
      [&scalar] { return nlohmann::json(scalar.gradient); },
      [this, &scalar](const std::vector<double>& gradient) {
        std::ranges::copy(gradient, scalar.gradient.begin());
        take_coefficients();
      });
  knob.read = [read = knob.read](const core::Node& node) {
    nlohmann::json gradient = read(node);
    if (gradient.size() != scalar_axes)
      core::reject(node, fmt::format("`{}` has {} numbers", node.key(), gradient.size()),
                   "give three, along x, y and z");
    return gradient;
  };
  return knob;
}

template <typename Real>
std::vector<couple::Knob> Turbulence<Real>::knobs() {
  const std::vector<core::Option> own = turbulence_options().at("turbulence");
  const auto option = [&](const char* key) { return couple::option_of(own, "turbulence", key); };
  std::vector<couple::Knob> all{coefficient(option("viscosity"), config_.viscosity)};
  all.push_back(config_.dt ? couple::make_knob(option("dt"), config_.dt)
                           : couple::make_knob(option("courant"), config_.courant));
  for (solvers::PassiveScalar& scalar : config_.scalars) all.push_back(mean_gradient(scalar));
  if (config_.forcing.kind == "none") return all;
  const std::vector<std::string>& used = solvers::forcings().named(config_.forcing.kind).options;
  if (std::ranges::find(used, "power") != used.end())
    all.push_back(
        coefficient(couple::option_of(solvers::forcing_table().options(), "forcing", "power"), config_.forcing.power));
  return all;
}

// A flow at rest takes steps of a hundredth of the run.
template <typename Real>
double Turbulence<Real>::wanted_step(double rate) {
  if (!std::isfinite(rate)) check_state();
  const double dt = config_.dt ? *config_.dt : rate > 0.0 ? config_.courant / rate : 0.01 * config_.end;
  courant_ = dt * rate;
  const double most = flow_.largest_courant();
  if (courant_ > most)
    require_sound(comm_,
                  fmt::format("the step is unstable: the flow would cross {:.3g} cells in it, and the scheme is stable "
                              "up to {:.3g}",
                              courant_, most),
                  place(), config_.dt ? "lower `turbulence.dt`" : "lower `turbulence.courant`");
  if (!(time_ + dt > time_)) refuse_step(comm_, dt, "flow", place());
  return dt;
}

template <typename Real>
void Turbulence<Real>::add_mean() {
  solvers::Spectrum<Real>& state = flow_.state();
  for (int b = 0; b < state.blocks(); ++b)
    if (state.box(b).contains(mesh::Int3{0, 0, 0}))
      for (int c = 0; c < 3; ++c)
        state.view(b)(c, 0, 0, 0) += static_cast<Real>(config_.initial.mean[static_cast<std::size_t>(c)]);
}

template <typename Real>
void Turbulence<Real>::set_scalars() {
  solvers::Spectrum<Real>& state = flow_.state();
  for (std::size_t s = 0; s < config_.scalars.size(); ++s) {
    const ScalarStart& start = config_.scalar_starts[s];
    // a cos(k.x) is half of a at k and at -k
    const mesh::Int3 wave{start.wave[0], start.wave[1], start.wave[2]}, opposite{-wave.x, -wave.y, -wave.z};
    for (int b = 0; b < state.blocks(); ++b)
      fft::for_each_mode(state.box(b), flow_.waves(), [&, u = state.view(b)](const fft::Mode& mode) {
        const double share =
            0.5 * (static_cast<int>(mode.wavenumber == wave) + static_cast<int>(mode.wavenumber == opposite));
        u(3 + static_cast<int>(s), mode.index.z, mode.index.y, mode.index.x) =
            static_cast<Real>(share * start.amplitude);
      });
  }
}

template <typename Real>
void Turbulence<Real>::begin(std::span<const double> forcing) {
  check_state();
  flow_.begin(step_, forcing);
  least_resolution_ = resolution();
}

template <typename Real>
mesh::LevelLayouts Turbulence<Real>::blocks_for(const mesh::Snapshot& file) const {
  return mesh::LevelLayouts(StoredFlow(file).blocks(comm_.size()));
}

// Those that the grid does not keep: a file may be of a flow with other cells, or without displaced grids.
template <typename Real>
void Turbulence<Real>::drop_waves() {
  solvers::Spectrum<Real>& state = flow_.state();
  for (int b = 0; b < state.blocks(); ++b)
    fft::for_each_mode(state.box(b), flow_.waves(), [&, u = state.view(b)](const fft::Mode& mode) {
      if (flow_.grid().keeps(mode.wavenumber)) return;
      for (int c = 0; c < state.components(); ++c) u(c, mode.index.z, mode.index.y, mode.index.x) = {};
    });
}

// Of a flow with other cells, the waves that both have.
template <typename Real>
void Turbulence<Real>::restore(const mesh::Snapshot& state) {
  const StoredFlow stored(state);
  solvers::transfer_modes(comm_, stored.read<Real>(comm_, component_names(config_.scalars)), stored.waves(),
                          flow_.state(), flow_.waves());
  drop_waves();
  step_ = state.moment.step;
  time_ = state.moment.time;
  if (const double divergence = flow_.divergence(); divergence > most_divergence)
    require_sound(comm_, fmt::format("the velocity in the file has divergence: {:.3g} of its gradients", divergence),
                  state.source, "give a state of an incompressible flow");
  else if (divergence > exact_divergence<Real>)
    flow_.project();
  restore_tracers(state);
  const std::map<std::string, double>& kept = state.state_numbers;
  std::vector<double> forcing;
  for (auto found = kept.find("forcing_0"); found != kept.end();
       found = kept.find(fmt::format("forcing_{}", forcing.size())))
    forcing.push_back(found->second);
  begin(forcing);
  const auto number = [&](const char* name, double otherwise) {
    const auto found = kept.find(name);
    return found == kept.end() ? otherwise : found->second;
  };
  flow_.budget() = {number("energy_start", flow_.sums().energy), number("energy_injected", 0.0),
                    number("energy_dissipated", 0.0)};
  least_resolution_ = std::min(least_resolution_, number("least_kmax_eta", least_resolution_));
}

// Those that the file has, else, or where it has others than the run says, those that begin here.
template <typename Real>
void Turbulence<Real>::restore_tracers(const mesh::Snapshot& state) {
  const std::vector<std::string> known = mesh::names_of(state.species());
  for (const TracerSpecies& species : config_.tracers) {
    mesh::Particles particles;
    if (std::ranges::find(known, species.name) != known.end()) particles = state.species(species.name).take();
    const std::int64_t count = comm_.sum(static_cast<std::int64_t>(particles.size()));
    if (count == 0 || words_in(state, species, count) != words_of(species)) {
      scatter(species);
      continue;
    }
    particles.attributes.clear();
    tracers_->add(std::move(particles));
  }
}

template <typename Real>
nlohmann::json Turbulence<Real>::status() const {
  const solvers::FlowSums& sums = flow_.sums();
  nlohmann::json status{{"time", time_},
                        {"dt", dt_},
                        {"dt_limit", config_.dt ? "given" : "flow"},
                        {"courant", courant_},
                        {"energy", sums.energy},
                        {"dissipation", sums.dissipation},
                        {"power", sums.power}};
  if (const double kmax_eta = resolution(); std::isfinite(kmax_eta)) status["kmax_eta"] = kmax_eta;
  const solvers::EnergyBudget& budget = flow_.budget();
  status["energy_balance"] = budget.error(sums.energy);
  status["energy_injected"] = budget.injected;
  status["energy_dissipated"] = budget.dissipated;
  for (std::size_t s = 0; s < sums.scalars.size(); ++s)
    status["scalars"][config_.scalars[s].name] = {{"variance", sums.scalars[s].variance},
                                                  {"dissipation", sums.scalars[s].dissipation},
                                                  {"production", sums.scalars[s].production}};
  return status;
}

template <typename Real>
nlohmann::json Turbulence<Real>::summary() const {
  nlohmann::json summary{{"divergence", flow_.divergence()}};
  const solvers::EnergyBudget& budget = flow_.budget();
  summary["energy_balance"] = budget.error(flow_.sums().energy);
  summary["energy_injected"] = budget.injected;
  summary["energy_dissipated"] = budget.dissipated;
  if (!std::isfinite(least_resolution_)) return summary;
  summary["least_kmax_eta"] = least_resolution_;
  summary["is_resolved"] = least_resolution_ >= least_resolved;
  return summary;
}

template <typename Real>
mesh::Snapshot Turbulence<Real>::snapshot() {
  mesh::Snapshot snapshot;
  snapshot.moment = moment();
  snapshot.geometry = {views_.modes().domain(), config_.geometry().length, {false, false, false}};
  snapshot.rank = comm_.rank();
  snapshot.levels = {views_.modes()};
  const solvers::EnergyBudget& budget = flow_.budget();
  snapshot.state_numbers = {
      {"energy_start", budget.start}, {"energy_injected", budget.injected}, {"energy_dissipated", budget.dissipated}};
  if (std::isfinite(least_resolution_)) snapshot.state_numbers["least_kmax_eta"] = least_resolution_;
  const std::vector<double> forcing = flow_.forcing_state();
  for (std::size_t n = 0; n < forcing.size(); ++n) snapshot.state_numbers[fmt::format("forcing_{}", n)] = forcing[n];
  views_.add_modes(snapshot);
  add_tracers(snapshot);
  const auto add_grid = [&](const char* name, mesh::Snapshot grid) {
    add_tracers(grid);
    snapshot.add_grid(name, std::move(grid));
  };
  add_grid(space_grid, views_.in_space());
  add_grid(kept_grid, views_.kept(snapshot.state_numbers));
  add_grid(two_components_grid, views_.two_components(snapshot.state_numbers));
  return snapshot;
}

// Each where the part of the box is that it is in, taken as one of the snapshot's grid.
template <typename Real>
void Turbulence<Real>::add_tracers(mesh::Snapshot& snapshot) {
  for (std::size_t n = 0; n < config_.tracers.size(); ++n) {
    mesh::Geometry geometry = snapshot.geometry;
    geometry.periodic = {true, true, true};
    mesh::Species species(config_.tracers[n].name, [this, n, geometry, layout = snapshot.levels.front()] {
      mesh::Particles particles = tracers_->with_velocities(static_cast<int>(n));
      redistribute::migrate(comm_, layout, geometry, particles);
      return particles;
    });
    for (std::size_t axis = 0; axis < 3; ++axis)
      species.numbers.push_back({fmt::format("{}vel", "xyz"[axis]), "", solvers::tracer_velocities[axis], 1.0});
    snapshot.add_species(std::move(species));
  }
}

}  // namespace

std::unique_ptr<Simulation> make_turbulence(const TurbulenceConfig& config, const comm::Communicator& comm,
                                            const couple::Landings& landings, core::Bill& bill) {
  if (config.is_single()) return std::make_unique<Turbulence<float>>(config, comm, landings, bill);
  return std::make_unique<Turbulence<double>>(config, comm, landings, bill);
}

}  // namespace sidestream::sims
