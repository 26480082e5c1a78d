#include "sims/gas/gas_simulation.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/fft/engine.hpp"
#include "sidestream/io/file_mesh.hpp"
#include "sims/checks/same_physics.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/config/amr_config.hpp"
#include "sims/files/file_state.hpp"
#include "sims/gas/gas_books.hpp"
#include "sims/gas/gas_edit.hpp"
#include "sims/gas/gas_gravity.hpp"
#include "sims/gas/gas_knobs.hpp"
#include "sims/gas/gas_quantities.hpp"
#include "sims/run/moments.hpp"
#include "sims/tagging.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using mesh::Hierarchy;

/// Everything that such a simulation reads.
struct GasSetup {
  MeshConfig mesh;
  AmrConfig amr;
  solvers::HydroConfig hydro;
  GasProblem problem;
  std::map<std::string, std::string> physics{};  ///< see SimulationPlan

  // The gas with its ghost cells, the state before a step, and what moves between levels.
  double block_bytes() const {
    double cells = 1.0, with_ghosts = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double n = std::min(mesh.block, mesh.extent()[axis]);
      cells *= n;
      with_ghosts *= n > 1 ? n + 2.0 * solvers::hydro_ghost : 1.0;
    }
    return 8.0 * solvers::gas_components * (with_ghosts + (amr.max_level > 0 ? 2.0 * cells : 0.0));
  }
};

/// Sums over the domain that a closed problem keeps.
struct Totals {
  double mass = 0.0, energy = 0.0;
};

class GasSimulation : public Simulation {
 public:
  GasSimulation(const GasSetup& setup, const comm::Communicator& comm, const couple::Landings& landings,
                core::Bill& bill)
      : setup_(setup),
        comm_(comm),
        finest_(setup.problem.geometry.refined(setup.amr.max_level)),
        landings_(landings.times, setup.problem.end),
        bill_(bill) {}

  // Refines until the initial state asks for no more.
  void initialize() override {
    core::timed(bill_, "initial conditions", [&] {
      start_on(hierarchy_of(mesh::Forest(setup_.mesh.extent(), setup_.mesh.block, setup_.problem.geometry.periodic)));
      for (int round = 0; round < setup_.amr.max_level; ++round) {
        fill_for_criteria();
        const mesh::Forest forest = wanted_forest();
        if (const std::string problem = exceeded_budget(setup_.amr, forest, setup_.block_bytes()); !problem.empty())
          throw core::Error(problem, "", "raise `amr.max_blocks`, lower `amr.max_level` or tag less");
        if (forest == gas_->hierarchy().forest()) break;
        start_on(hierarchy_of(forest));
      }
    });
    begin();
    start_ = totals();
  }

  void restore(const mesh::Snapshot& state) override;
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override { return hierarchy_for(file); }
  Hierarchy hierarchy_for(const mesh::Snapshot& file) const {
    check_mesh(file, setup_.mesh, setup_.amr.max_level);
    return hierarchy_of(io::forest_of(file, setup_.mesh.block));
  }

  void advance() override {
    if (setup_.amr.max_level > 0 && step_ % setup_.amr.regrid_every == 0 && step_ > 0) regrid();
    if (!stop_reason_.empty()) return;
    core::timed(bill_, "time step", [&] { dt_ = gas_->largest_step(); });
    if (!(time_ + dt_ > time_)) {
      check_state();
      refuse_step(comm_, dt_, "gas", place());
    }
    const double landing = landings_.next(time_);
    const bool lands = time_ + dt_ >= landing;
    if (lands) dt_ = landing - time_;
    amr::subcycle(
        {.level = first_level()}, gas_->finest_level(), setup_.amr.time_levels(),
        [&](const amr::LevelStep& step) { advance_level(step); },
        [&](int level) { core::timed(bill_, "synchronization", [&] { gas_->synchronize(level); }); });
    core::timed(bill_, "synchronization", [&] { gas_->average_below_base(); });
    has_ghosts_ = false;
    books_.enter(comm_, gas_->take_books());
    if (gas_->finest_level() > 0) solve_gravity();
    time_ = lands ? landing : time_ + dt_;
    ++step_;
    uniform_updates_ += core::pow(amr::substeps(setup_.amr.time_levels()), setup_.amr.max_level - first_level()) *
                        static_cast<double>(finest_.domain.volume());
  }

  void check_state() const override;

  mesh::Moment moment() const override { return {.step = step_, .time = time_}; }
  double progress() const override { return time_ >= setup_.problem.end ? 1.0 : time_ / setup_.problem.end; }
  std::string stop_reason() const override { return stop_reason_; }

  nlohmann::json status() const override {
    nlohmann::json status{{"time", time_},
                          {"dt", dt_},
                          {"dt_limit", "gas"},
                          {"floored_cells", books_.floored_cells()},
                          {"booked", books_.to_json()}};
    if (setup_.amr.max_level == 0) return status;
    const mesh::Forest& forest = gas_->hierarchy().forest();
    std::vector<std::int32_t> blocks;
    for (int level = 0; level <= forest.finest_level(); ++level) blocks.push_back(forest.size(level));
    status["blocks"] = blocks;
    status["leaves"] = forest.leaves();
    return status;
  }

  nlohmann::json summary() const override;
  mesh::Snapshot snapshot() override { return make_snapshot(); }

  std::vector<couple::Knob> knobs() override {
    const auto take_up = [this] {
      if (gas_) gas_->set_scheme(setup_.hydro, setup_.amr.time_levels());
    };
    std::vector<couple::Knob> all = refinement_knobs(setup_.amr, take_up);
    std::ranges::move(gas_knobs(setup_.hydro, take_up), std::back_inserter(all));
    return all;
  }
  std::vector<couple::EditableQuantity> editable() const override { return editable_gas(units()); }
  nlohmann::json edit(const couple::RegionEdit& edit) override;

 private:
  Hierarchy hierarchy_of(const mesh::Forest& forest) const {
    return {forest, setup_.problem.geometry, comm_.size(), amr::block_costs(forest)};
  }
  void make_gas(const Hierarchy& hierarchy, std::vector<Field<double>> state) {
    gas_.emplace(comm_, setup_.hydro, hierarchy, std::move(state), setup_.amr.time_levels(), setup_.problem.boundary);
    has_ghosts_ = false;
  }
  void start_on(const Hierarchy& hierarchy);
  void begin();
  void solve_gravity();
  std::string place() const { return fmt::format("step {}, time {:.6g}", step_, time_); }
  void advance_level(const amr::LevelStep& step);
  // Gravity is solved from the root up; without it, coarse levels that are refined everywhere hold averages only.
  int first_level() const { return gravity_ ? 0 : gas_->base_level(); }
  void fill_for_criteria();
  mesh::Forest wanted_forest() const;
  void regrid();
  Totals totals() const;
  mesh::Snapshot make_snapshot() const;
  GasUnits units() const { return {.gamma = setup_.hydro.gamma}; }
  std::vector<GasQuantity> quantities() const { return gas_quantities(units()); }

  GasSetup setup_;
  const comm::Communicator& comm_;
  mesh::Geometry finest_;
  Times landings_;
  std::optional<solvers::RefinedGas> gas_;
  std::optional<GasGravity> gravity_;
  std::int64_t step_ = 0;
  double time_ = 0.0, dt_ = 0.0;
  bool has_ghosts_ = false;  // on all levels, filled since the last step
  Totals start_;
  double uniform_updates_ = 0.0;  // what the finest level everywhere would have taken
  std::string stop_reason_;
  GasBooks books_;
  core::Bill& bill_;
};

void GasSimulation::check_state() const {
  std::string problem;
  for (int level = 0; level <= gas_->finest_level() && problem.empty(); ++level)
    problem = problem_of_gas(gas_->state(level), level);
  if (problem.empty()) problem = books_.problem();
  require_sound(comm_, problem, place());
}

// What it adds to the sums that are kept is no error of theirs.
nlohmann::json GasSimulation::edit(const couple::RegionEdit& edit) {
  const Totals before = totals();
  const std::int64_t cells = edit_gas(comm_, edit, units(), *gas_);
  has_ghosts_ = false;
  solve_gravity();
  const Totals after = totals();
  const Totals added{after.mass - before.mass, after.energy - before.energy};
  start_ = {start_.mass + added.mass, start_.energy + added.energy};
  return {{"cells", cells}, {"added", {{"mass", added.mass}, {"energy", added.energy}}}};
}

void GasSimulation::begin() {
  check_state();
  if (setup_.problem.four_pi_g == 0.0) return;
  gravity_.emplace(comm_, gas_->hierarchy(), setup_.problem.four_pi_g);
  solve_gravity();
}

void GasSimulation::solve_gravity() {
  if (gravity_) core::timed(bill_, "gravity", [&] { gravity_->solve(*gas_); });
}

// With gravity, kick, drift, kick: of second order.
void GasSimulation::advance_level(const amr::LevelStep& step) {
  const double dt = (step.end - step.begin) * dt_;
  if (gravity_)
    core::timed(bill_, "gravity", [&] {
      gas_->begin_with_half(step.level);
      gravity_->kick(*gas_, step.level, 0.5 * dt);
    });
  if (!(has_ghosts_ && step.begin == 0.0))
    core::timed(bill_, "ghost cells",
                [&] { gas_->fill_ghosts(step.level, time_ + step.begin * dt_, step.coarse_weight); });
  core::timed(bill_, "hydro", [&] { gas_->advance(step.level, dt); });
  if (!gravity_) return;
  core::timed(bill_, "gravity", [&] {
    gravity_->solve_level(*gas_, step);
    gravity_->kick(*gas_, step.level, 0.5 * dt);
  });
}

// Sets the initial state on all levels of `hierarchy`.
void GasSimulation::start_on(const Hierarchy& hierarchy) {
  std::vector<Field<double>> state;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    auto& field = state.emplace_back(hierarchy.layout(level), comm_.rank(), solvers::gas_components,
                                     solvers::hydro_ghosts(hierarchy.geometry(level).domain));
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, gas = field.view(b)](int k, int j, int i) {
        const GasCell cell = setup_.problem.initial(hierarchy.geometry(level), {i, j, k}, finest_);
        for (int c = 0; c < solvers::gas_components; ++c) gas(c, k, j, i) = cell[static_cast<std::size_t>(c)];
      });
  }
  make_gas(hierarchy, std::move(state));
}

// Gravity kicks the gas before a step fills its ghost cells; otherwise those that criteria read are those that the step
// begins with.
void GasSimulation::fill_for_criteria() {
  const std::int32_t ghost = amr::ghost_of(setup_.amr.criteria);
  if (ghost == 0) return;
  gas_->fill_ghosts_of_all(time_, gravity_ ? ghost : solvers::hydro_ghost);
  has_ghosts_ = !gravity_;
}

mesh::Forest GasSimulation::wanted_forest() const {
  const auto write = [&, table = quantities()](const std::string& name, int level, int block, const mesh::Box& cells,
                                               core::View4<double> out) {
    find(table, name)->write(gas_->state(level).view(block), cells, out);
  };
  const auto tags = tag_blocks(gas_->hierarchy(), comm_.rank(), setup_.amr.criteria, {setup_.hydro.gamma, 0.0, 1.0},
                               write, setup_.amr.derived);
  return amr::adapted(comm_, gas_->hierarchy(), tags, setup_.amr.limits());
}

// The ghost cells that a step begins with are the step's; a new mesh has to fill them again, at its own expense.
void GasSimulation::regrid() {
  core::timed(bill_, gravity_ ? "regrid" : "ghost cells", [&] { fill_for_criteria(); });
  core::timed(bill_, "regrid", [&] {
    const mesh::Forest forest = wanted_forest();
    stop_reason_ = exceeded_budget(setup_.amr, forest, setup_.block_bytes());
    if (!stop_reason_.empty() || forest == gas_->hierarchy().forest()) return;
    gas_->move_to(hierarchy_of(forest), time_);
    if (has_ghosts_) fill_for_criteria();
    if (gravity_) gravity_->move_to(gas_->hierarchy());
    solve_gravity();
  });
}

Totals GasSimulation::totals() const {
  std::array<core::ExactSum, 2> sums;
  const Hierarchy& hierarchy = gas_->hierarchy();
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const double volume = hierarchy.geometry(level).cell_volume();
    const auto own = hierarchy.layout(level).boxes_of(comm_.rank());
    for (int b = 0; b < gas_->state(level).blocks(); ++b) {
      if (!hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)])) continue;
      const auto gas = gas_->state(level).view(b);
      core::for_each_cell(gas_->state(level).box(b), [&](int k, int j, int i) {
        sums[0].add(volume * gas(solvers::density, k, j, i));
        sums[1].add(volume * gas(solvers::total_energy, k, j, i));
      });
    }
  }
  comm_.sum(std::span(sums));
  return {sums[0].value(), sums[1].value() + (gravity_ ? gravity_->energy(*gas_) : 0.0)};
}

mesh::Snapshot GasSimulation::make_snapshot() const {
  mesh::Snapshot snapshot;
  snapshot.moment = moment();
  snapshot.moment.attributes = {{"time", time_}};
  snapshot.geometry = setup_.problem.geometry;
  snapshot.gamma = setup_.hydro.gamma;
  snapshot.rank = comm_.rank();
  snapshot.state_numbers = {{"mass_start", start_.mass}, {"energy_start", start_.energy}};
  books_.store(snapshot.state_numbers);
  const Hierarchy& hierarchy = gas_->hierarchy();
  std::vector<mesh::FieldView<const double>> state;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    snapshot.levels.push_back(hierarchy.leaf_layout(level));
    if (hierarchy.finest_level() > 0) snapshot.with_refined.push_back(hierarchy.layout(level));
    state.emplace_back(gas_->state(level));
  }
  add_gas(quantities(), state, snapshot);
  return snapshot;
}

nlohmann::json GasSimulation::summary() const {
  nlohmann::json summary = nlohmann::json::object();
  if (setup_.problem.is_closed) {
    const Totals now = totals();
    summary["mass_error"] = std::fabs(now.mass / start_.mass - 1.0);
    summary["energy_error"] = std::fabs(now.energy / start_.energy - 1.0);
  }
  summary["cell_updates"] = comm_.sum(gas_->cell_updates());
  summary["uniform_cell_updates"] = uniform_updates_;
  if (setup_.problem.measure) summary.update(setup_.problem.measure(comm_, make_snapshot()));
  return summary;
}

void GasSimulation::restore(const mesh::Snapshot& state) {
  const Hierarchy hierarchy = hierarchy_for(state);
  std::vector<Field<double>> gas;
  for (int level = 0; level <= hierarchy.finest_level(); ++level)
    gas.emplace_back(hierarchy.layout(level), comm_.rank(), solvers::gas_components,
                     solvers::hydro_ghosts(hierarchy.geometry(level).domain));
  GasFactors factors;
  factors.gamma = setup_.hydro.gamma;
  read_gas(comm_, state, factors, gas);
  make_gas(hierarchy, std::move(gas));
  step_ = state.moment.step;
  time_ = state.moment.time;
  begin();
  const std::map<std::string, double>& kept = state.state_numbers;
  const bool is_own = kept.contains("mass_start");
  start_ = is_own ? Totals{kept.at("mass_start"), kept.at("energy_start")} : totals();
  if (is_own) books_.restore(kept);
}

std::vector<mesh::Quantity> quantities_of(const solvers::HydroConfig& hydro) {
  return quantities_in(gas_quantities({.gamma = hydro.gamma}));
}

class GasSimulationPlan : public SimulationPlan {
 public:
  explicit GasSimulationPlan(GasSetup setup) : setup_(std::move(setup)) {}

  mesh::Int3 cells() const override { return setup_.mesh.extent(); }
  // A refined mesh may grow to its budget of blocks, but not beyond the finest level everywhere.
  double memory_bytes() const override {
    const mesh::Forest roots(cells(), setup_.mesh.block);
    double blocks = 0.0;
    for (int level = 0; level <= setup_.amr.max_level; ++level)
      blocks += static_cast<double>(roots.size(0)) * core::pow(roots.children(), level);
    const double most = setup_.amr.max_level > 0 ? static_cast<double>(setup_.amr.max_blocks) : blocks;
    return setup_.block_bytes() * std::min(blocks, most);
  }
  couple::TimeKeeping times() const override {
    return {.has_redshift = false, .first_time = 0.0, .last_time = setup_.problem.end};
  }
  std::vector<mesh::Quantity> quantities() const override { return quantities_of(setup_.hydro); }
  double blocks() const override {
    return setup_.amr.max_level > setup_.amr.min_level ? 0.0 : block_count(setup_.mesh, setup_.amr.min_level);
  }
  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    return {{"cells", {n.x, n.y, n.z}},
            {"block", setup_.mesh.block},
            {"max_level", setup_.amr.max_level},
            {"end", setup_.problem.end}};
  }
  std::map<std::string, std::string> physics() const override { return setup_.physics; }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override {
    return std::make_unique<GasSimulation>(setup_, compute, landings, bill);
  }

 private:
  GasSetup setup_;
};

void reject_jeans(const core::Node& root) {
  const core::Node* refine = root.find("refine");
  if (refine == nullptr) return;
  for (const auto& [name, rule] : refine->members())
    if (const core::Node* criterion = rule.find("criterion"); criterion != nullptr && criterion->text() == "jeans")
      core::reject(*criterion, "a gas without gravity has no Jeans length",
                   "use another criterion, such as \"loehner\"");
}

// The same for `1` and `1.0`.
std::string words_of(const core::Node& value) {
  const bool is_number =
      std::holds_alternative<std::int64_t>(value.value()) || std::holds_alternative<double>(value.value());
  return is_number ? fmt::format("{}", value.number()) : core::value_to_toml(value);
}

// The gas and the problem, but for where the run ends.
std::map<std::string, std::string> physics_of(const std::string& name, const solvers::HydroConfig& hydro,
                                              const core::Node& problem) {
  std::map<std::string, std::string> all{{"hydro.gamma", fmt::format("{}", hydro.gamma)}};
  for (const auto& [key, value] : problem.members())
    if (key != "end") all[fmt::format("{}.{}", name, key)] = words_of(value);
  return all;
}

std::unique_ptr<SimulationPlan> read(const GasProblemEntry& problem, const core::Node& root, core::Node& resolved) {
  GasSetup setup;
  setup.mesh = read_mesh(root, resolved);
  core::Node part;
  setup.hydro = solvers::hydro_table(problem.standard).read(table_or_empty(root, "hydro"), &part);
  solvers::check(setup.hydro);
  resolved.set("hydro", part);
  setup.problem = problem.read(root, setup.mesh.extent(), setup.hydro, resolved);
  setup.amr = read_amr(root, setup.mesh, quantities_of(setup.hydro), {}, false, resolved);
  reject_jeans(root);
  setup.physics = physics_of(problem.name, setup.hydro, *resolved.find(problem.name));
  if (setup.problem.four_pi_g != 0.0) setup.physics[fft_engine_key] = fft::engine;
  return std::make_unique<GasSimulationPlan>(std::move(setup));
}

}  // namespace

SimulationEntry gas_simulation(const GasProblemEntry& problem) {
  return {problem.name,
          problem.documentation,
          {"mesh", "amr", "refine", problem.name, "hydro"},
          [problem](const core::Node& root, core::Node& resolved) { return read(problem, root, resolved); },
          [problem] {
            return std::map<std::string, std::vector<core::Option>>{
                {"mesh", mesh_table().options()},
                {"amr", amr_table().options()},
                {problem.name, problem.options()},
                {"hydro", solvers::hydro_table(problem.standard).options()}};
          },
          [] { return quantities_of({}); }};
}

}  // namespace sidestream::sims
