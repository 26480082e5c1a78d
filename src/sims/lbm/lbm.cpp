#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/files/file_state.hpp"
#include "sims/lbm/lbm_config.hpp"
#include "sims/lbm/lbm_quantities.hpp"
#include "sims/lbm/tiles.hpp"
#include "sims/registry.hpp"
#include "sims/run/edited_cells.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::EdgeKind, solvers::LatticeEdge;

constexpr const char* flow_hint =
    "go on from an earlier checkpoint with a larger `lbm.viscosity`, lower speeds or `lbm.collision` = "
    "\"regularised\"; more cells at the same Reynolds number help, too";
/// A look at all cells costs about half of a step.
constexpr std::int64_t steps_between_checks = 100;

// The vortices of Taylor and Green in an x-y plane, one along each axis, carried by a mean flow.
solvers::LatticeCell taylor_green(const LbmConfig& config, mesh::Int3 cell) {
  const double two_pi = 2.0 * std::numbers::pi, speed = config.vortices;
  const double kx = two_pi / config.mesh.cells[0], ky = two_pi / config.mesh.cells[1];
  const double x = (cell.x + 0.5) * kx, y = (cell.y + 0.5) * ky;
  const double u = speed, v = speed * kx / ky;
  const double cos_x = core::cos(x), sin_x = core::sin(x), cos_y = core::cos(y), sin_y = core::sin(y);
  solvers::LatticeCell flow;
  flow.density = 1.0 - 0.75 * (u * u * core::cos(2.0 * x) + v * v * core::cos(2.0 * y));
  flow.velocity = {config.velocity[0] - u * cos_x * sin_y, config.velocity[1] + v * sin_x * cos_y, config.velocity[2]};
  flow.strain = {
      u * kx * sin_x * sin_y, -v * ky * sin_x * sin_y, 0.0, 0.5 * (v * kx - u * ky) * cos_x * cos_y, 0.0, 0.0};
  return flow;
}

template <typename Real>
class Lbm final : public Simulation {
 public:
  Lbm(const LbmConfig& config, const comm::Communicator& comm, core::Bill& bill)
      : config_(config),
        comm_(comm),
        tiles_(make_tiles(config.geometry().domain, config.geometry().periodic, config.mesh.block,
                          config.decomposition == "rectangles", comm.size())),
        flow_(comm, tiles_.boxes, config.lattice_at(0.0), bill) {}

  void initialize() override {
    flow_.set_barriers([this](mesh::Int3 cell) { return barrier_at(config_.barriers, cell); });
    const solvers::LatticeCell uniform{1.0, {config_.velocity[0], config_.velocity[1], config_.velocity[2]}, {}};
    const bool has_vortices = config_.flow == "taylor-green";
    flow_.set_flow([&](mesh::Int3 cell) { return has_vortices ? taylor_green(config_, cell) : uniform; });
    begin();
    mass_start_ = flow_.mass();
    require_sound(comm_, mass_start_ > 0.0 ? "" : "barriers fill all cells, and nothing can flow", "the start",
                  "make them smaller, or leave one out");
  }

  void restore(const mesh::Snapshot& state) override;
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override {
    check_mesh(file, config_.mesh, 0);
    return mesh::LevelLayouts(tiles_.tiles);
  }

  void advance() override {
    time_ += 1.0;
    ++step_;
    if (config_.period > 0.0) flow_.set(config_.lattice_at(time_));
    flow_.advance(std::exchange(foreseen_, {}));
    measure_forces();
    if (step_ % steps_between_checks == 0 || is_complete()) look();
  }

  void foresee(const std::vector<std::string>& quantities) override {
    foreseen_ = components_for(flow_.lattice(), quantities);
  }

  void check_state() const override { checked(); }

  mesh::Moment moment() const override {
    return {.step = step_, .time = time_, .attributes = {{"time", time_}, {"viscosity", config_.viscosity}}};
  }
  double progress() const override { return time_ >= config_.end ? 1.0 : time_ / config_.end; }
  std::vector<core::Error> warnings() override {
    std::vector<core::Error> all;
    const int working = static_cast<int>(tiles_.boxes.size());
    if (!std::exchange(has_told_ranks_, true) && working < comm_.size())
      all.emplace_back(fmt::format("{} of {} ranks have no cells: there are {} tiles", comm_.size() - working,
                                   comm_.size(), tiles_.tiles.size()),
                       "key `mesh.block`", "take thinner tiles: each rank has whole ones");
    const double mach = fastest_ * std::numbers::sqrt3;
    if (mach > most_mach && !std::exchange(has_told_mach_, true))
      all.emplace_back(fmt::format("the fastest fluid has a Mach number of {:.3g}, above {:g}", mach, most_mach),
                       fmt::format("step {}", step_),
                       "errors of compressibility grow as its square: lower all speeds and the viscosity alike");
    return all;
  }
  nlohmann::json status() const override {
    nlohmann::json status{{"time", time_}, {"dt", 1.0}, {"dt_limit", "lattice"}};
    for (std::size_t n = 0; n < forces_.size(); ++n) status["forces"][name_of_barrier(n)] = forces_[n];
    return status;
  }
  nlohmann::json summary() const override {
    if (!is_closed()) return nlohmann::json::object();
    return {{"mass_error", std::fabs(flow_.mass() / mass_start_ - 1.0)}};
  }

  mesh::Snapshot snapshot() override {
    mesh::Snapshot snapshot;
    snapshot.moment = moment();
    snapshot.geometry = config_.geometry();
    snapshot.rank = comm_.rank();
    snapshot.levels = {tiles_.tiles};
    snapshot.state_numbers = {{"mass_start", mass_start_}};
    add_lbm(flow_, snapshot);
    return snapshot;
  }

  std::vector<couple::Knob> knobs() override;
  std::vector<couple::EditableQuantity> editable() const override {
    return {{barrier_quantity, "1",
             fmt::format("0 makes cells fluid, at rest; {} solid, as a barrier of its own", painted()), -1.0}};
  }
  nlohmann::json edit(const couple::RegionEdit& edit) override;

 private:
  // The number of what is painted while the run goes on.
  int painted() const { return static_cast<int>(config_.barriers.size()) + 1; }
  std::string name_of_barrier(std::size_t number) const {
    return number < config_.barriers.size() ? config_.barriers[number].name : painted_name;
  }
  bool is_closed() const {
    for (const auto& axis : config_.lattice.edges)
      for (const LatticeEdge& edge : axis)
        if (edge.kind != EdgeKind::periodic && edge.kind != EdgeKind::wall) return false;
    return true;
  }
  // Returns the largest speed of all.
  double checked() const {
    const auto seen = flow_.look();
    require_sound(comm_, seen.problem, fmt::format("step {}", step_), flow_hint);
    return seen.fastest;
  }
  void look() { fastest_ = comm_.max(checked()); }
  void begin() {
    look();
    has_painted_ = comm_.max(largest_barrier()) == painted();
    measure_forces();
  }
  std::int64_t largest_barrier() const {
    std::int64_t largest = 0;
    const Field<std::int32_t>& mask = flow_.barriers();
    for (int b = 0; b < mask.blocks(); ++b)
      core::for_each_cell(mask.box(b), [&, view = mask.view(b)](int k, int j, int i) {
        largest = std::max<std::int64_t>(largest, view(k, j, i));
      });
    return largest;
  }
  void measure_forces() {
    const int count = has_painted_ ? painted() : painted() - 1;
    if (count > 0) forces_ = flow_.forces(count);
  }
  void set_lattice() { flow_.set(config_.lattice_at(time_)); }
  void read_barriers_of(const mesh::Snapshot& state);
  void read_populations(const mesh::Snapshot& state);
  void read_velocities(const mesh::Snapshot& state);
  using Check = std::function<void(const core::Node& place, const std::vector<double>& numbers)>;
  couple::Knob vector_knob(core::Option option, std::array<double, 3>& variable, Check check);

  LbmConfig config_;
  const comm::Communicator& comm_;
  Tiles tiles_;
  solvers::LatticeFlow<Real> flow_;
  solvers::LatticeComponents foreseen_{};      // by the next step
  std::vector<std::array<double, 3>> forces_;  // of each barrier
  bool has_painted_ = false, has_told_ranks_ = false, has_told_mach_ = false;
  std::int64_t step_ = 0;
  double time_ = 0.0, mass_start_ = 0.0, fastest_ = 0.0;
};

// The cells of a quantity of a file, where the boxes of ranks are.
template <typename F>
void read_cells(const mesh::Snapshot& state, const std::string& name, const mesh::Layout& tiles, int rank, F f) {
  Field<double> cells(tiles, rank);
  state.read(name, 0, cells);
  for (int b = 0; b < cells.blocks(); ++b)
    core::for_each_cell(cells.box(b), [&, from = cells.view(b)](int k, int j, int i) { f(k, j, i, from(k, j, i)); });
}

template <typename Real>
void Lbm<Real>::read_barriers_of(const mesh::Snapshot& state) {
  if (!state.has(barrier_quantity))
    return flow_.set_barriers([this](mesh::Int3 cell) { return barrier_at(config_.barriers, cell); });
  Field<std::int32_t> wanted(tiles_.boxes, comm_.rank());
  bool is_known = true;
  read_cells(state, barrier_quantity, tiles_.tiles, comm_.rank(), [&](int k, int j, int i, double value) {
    is_known = is_known && value >= 0.0 && value <= painted() && value == std::floor(value);
    wanted.view(0)(k, j, i) = is_known ? static_cast<std::int32_t>(value) : 0;
  });
  require_sound(comm_, is_known ? "" : "the file has barriers that the run does not know", state.source,
                "give the run the barriers of the file");
  flow_.set_barriers([&](mesh::Int3 cell) { return wanted.view(0)(cell.z, cell.y, cell.x); });
}

template <typename Real>
void Lbm<Real>::read_populations(const mesh::Snapshot& state) {
  const mesh::FieldView<Real> populations = flow_.populations();
  for (int q = 0; q < solvers::table_of(flow_.lattice()).directions(); ++q)
    read_cells(state, population_name(q), tiles_.tiles, comm_.rank(),
               [&](int k, int j, int i, double value) { populations.view(0)(q, k, j, i) = static_cast<Real>(value); });
}

// In equilibrium.
template <typename Real>
void Lbm<Real>::read_velocities(const mesh::Snapshot& state) {
  Field<double> cells(tiles_.boxes, comm_.rank(), 4);
  const auto read = [&](const char* name, int component, double otherwise) {
    for (double& value : cells.blocks() > 0 ? std::span(&cells.view(0)(component, cells.box(0).lo.z, cells.box(0).lo.y,
                                                                       cells.box(0).lo.x),
                                                        static_cast<std::size_t>(cells.box(0).volume()))
                                            : std::span<double>())
      value = otherwise;
    if (state.has(name))
      read_cells(state, name, tiles_.tiles, comm_.rank(),
                 [&](int k, int j, int i, double value) { cells.view(0)(component, k, j, i) = value; });
  };
  read("gas_density", 0, 1.0);
  read("velocity_x", 1, 0.0);
  read("velocity_y", 2, 0.0);
  read("velocity_z", 3, 0.0);
  flow_.set_flow([&](mesh::Int3 at) {
    const auto u = cells.view(0);
    const double along_z = config_.is_plane() ? 0.0 : u(3, at.z, at.y, at.x);
    return solvers::LatticeCell{u(0, at.z, at.y, at.x), {u(1, at.z, at.y, at.x), u(2, at.z, at.y, at.x), along_z}, {}};
  });
}

template <typename Real>
void Lbm<Real>::restore(const mesh::Snapshot& state) {
  step_ = state.moment.step;
  time_ = state.moment.time;
  set_lattice();
  read_barriers_of(state);
  if (state.has(population_name(0)))
    read_populations(state);
  else if (state.has("velocity_x") && state.has("velocity_y"))
    read_velocities(state);
  else
    comm_.agree_on([&] {
      throw core::Error("the file has neither populations nor velocities", state.source,
                        "a flow begins with a checkpoint of one, or a file with `velocity_x` and `velocity_y`");
    });
  begin();
  const auto kept = state.state_numbers.find("mass_start");
  mass_start_ = kept != state.state_numbers.end() ? kept->second : flow_.mass();
}

template <typename Real>
couple::Knob Lbm<Real>::vector_knob(core::Option option, std::array<double, 3>& variable, Check check) {
  couple::Knob knob = couple::make_knob<std::vector<double>>(
      std::move(option), [&variable] { return nlohmann::json(variable); },
      [this, &variable](const std::vector<double>& to) {
        std::ranges::copy(to, variable.begin());
        set_lattice();
      });
  knob.read = [read = knob.read, check = std::move(check)](const core::Node& node) {
    nlohmann::json numbers = read(node);
    check(node, numbers.get<std::vector<double>>());
    return numbers;
  };
  return knob;
}

template <typename Real>
std::vector<couple::Knob> Lbm<Real>::knobs() {
  const std::map<std::string, std::vector<core::Option>> options = lbm_options();
  const bool is_plane = config_.is_plane();
  couple::Knob viscosity = couple::make_knob(couple::option_of(options.at("lbm"), "lbm", "viscosity"),
                                             config_.viscosity, [this] { set_lattice(); });
  viscosity.read = [read = viscosity.read, collision = config_.collision](const core::Node& node) {
    nlohmann::json value = read(node);
    if (const std::string problem = problem_of_viscosity(value.get<double>(), collision); !problem.empty())
      core::reject(node, problem, "take a larger one");
    return value;
  };
  std::vector<couple::Knob> all{viscosity};
  all.push_back(vector_knob(
      couple::option_of(options.at("lbm"), "lbm", "force"), config_.lattice.force,
      [is_plane](const core::Node& place, const auto& to) { vector_of(place, "lbm.force", to, is_plane); }));
  for (const Face& face : faces) {
    LatticeEdge& edge = config_.lattice.edges[face.axis][face.high];
    if (edge.kind != EdgeKind::wall && edge.kind != EdgeKind::inflow && edge.kind != EdgeKind::equilibrium) continue;
    all.push_back(vector_knob(couple::option_of(options.at("edge.NAME"), std::string("edge.") + face.name, "velocity"),
                              edge.velocity,
                              [face, kind = edge.kind, is_plane](const core::Node& place, const auto& to) {
                                edge_velocity_of(place, face, kind, to, is_plane);
                              }));
  }
  return all;
}

template <typename Real>
nlohmann::json Lbm<Real>::edit(const couple::RegionEdit& edit) {
  const double before = flow_.mass();
  const Field<std::int32_t>& mask = flow_.barriers();
  Field<std::int32_t> wanted(tiles_.boxes, comm_.rank());
  for (int b = 0; b < mask.blocks(); ++b)
    core::for_each_cell(mask.box(b), [&](int k, int j, int i) { wanted.view(b)(k, j, i) = mask.view(b)(k, j, i); });
  const EditedCells edited(comm_, edit, mesh::LevelLayouts(tiles_.tiles));
  std::int64_t cells = 0, refused = 0;
  edited.for_each([&](int, int, mesh::Int3 at, double value) {
    std::int32_t& number = wanted.view(0)(at.z, at.y, at.x);
    const double to = edit.operation->result(number, value);
    const bool is_known = to >= 0.0 && to <= painted() && to == std::floor(to);
    ++cells;
    refused += !is_known;
    if (is_known) number = static_cast<std::int32_t>(to);
  });
  if (const std::int64_t all = comm_.sum(refused); all > 0)
    throw core::Error(
        fmt::format("`{}` would be no whole number from 0 to {} in {} cells", barrier_quantity, painted(), all), "",
        "0 is fluid, 1 and more are the numbers of barriers");
  std::int64_t fluid = 0;
  for (int b = 0; b < wanted.blocks(); ++b)
    core::for_each_cell(wanted.box(b),
                        [&, view = wanted.view(b)](int k, int j, int i) { fluid += view(k, j, i) == 0; });
  if (comm_.sum(fluid) == 0)
    throw core::Error("barriers would fill all cells, and nothing could flow", "", "leave cells for the fluid");
  flow_.set_barriers([&](mesh::Int3 at) { return wanted.view(0)(at.z, at.y, at.x); });
  begin();
  const double added = flow_.mass() - before;
  mass_start_ += added;
  return {{"cells", comm_.sum(cells)}, {"added", {{"mass", added}}}};
}

std::string words_of(std::span<const double> numbers) {
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::string words_of(const Barrier& barrier) {
  if (barrier.shape == barrier.name) {
    std::uint64_t digest = 1469598103934665603ULL;  // FNV-1a
    for (const std::uint8_t dark : barrier.picture.dark) digest = (digest ^ dark) * 1099511628211ULL;
    return fmt::format("{} x {} pixels, {:016x}", barrier.picture.width, barrier.picture.height, digest);
  }
  return fmt::format("{} {} {} {} {} {}", barrier.shape, words_of(barrier.center), barrier.radius.value_or(0.0),
                     words_of(barrier.from), words_of(barrier.to), barrier.width);
}

std::string words_of(const LatticeEdge& edge) {
  static constexpr std::array kinds{"periodic", "wall", "inflow", "outflow", "equilibrium"};
  return fmt::format("{} {}{}{}", kinds[static_cast<std::size_t>(edge.kind)], words_of(edge.velocity),
                     edge.is_parabolic ? " parabolic" : "",
                     edge.density ? fmt::format(", density {}", *edge.density) : "");
}

class LbmPlan final : public SimulationPlan {
 public:
  explicit LbmPlan(LbmConfig config) : config_(std::move(config)) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }
  // The populations before and after a step, and the mask.
  double memory_bytes() const override {
    const double real = config_.is_single() ? sizeof(float) : sizeof(double);
    return static_cast<double>(cells().product()) * (2.0 * real * directions() + sizeof(std::int32_t));
  }
  double least_memory_bytes() const override { return memory_bytes(); }
  io::Precision precision() const override {
    return config_.is_single() ? io::Precision::single_precision : io::Precision::double_precision;
  }
  couple::TimeKeeping times() const override {
    return {.has_redshift = false, .first_time = 0.0, .last_time = config_.end};
  }
  std::vector<mesh::Quantity> quantities() const override { return lbm_quantities(lattice()); }
  double blocks() const override { return block_count(config_.mesh); }
  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    nlohmann::json all{{"cells", {n.x, n.y, n.z}},
                       {"block", config_.mesh.block},
                       {"end", config_.end},
                       {"lattice", lattice() == solvers::LatticeKind::d2q9 ? "D2Q9" : "D3Q19"},
                       {"collision", config_.collision},
                       {"viscosity", config_.viscosity},
                       {"precision", config_.precision},
                       {"speed", config_.reference_speed()}};
    for (const Barrier& barrier : config_.barriers)
      all["barriers"][barrier.name] = {{"length", barrier.height()}, {"area", barrier.area(n.z)}};
    return all;
  }
  std::map<std::string, std::string> physics() const override {
    std::map<std::string, std::string> all{{"lbm.viscosity", fmt::format("{}", config_.viscosity)},
                                           {"lbm.collision", config_.collision},
                                           {"lbm.force", words_of(config_.force)},
                                           {"lbm.precision", config_.precision}};
    if (config_.collision == "trt") all["lbm.magic"] = fmt::format("{}", config_.magic);
    if (config_.period > 0.0)
      all["lbm.oscillation"] = fmt::format("{}, period {}", words_of(config_.oscillation), config_.period);
    for (const Face& face : faces)
      all[std::string("edge.") + face.name] = words_of(config_.lattice.edges[face.axis][face.high]);
    for (const Barrier& barrier : config_.barriers) all["barrier." + barrier.name] = words_of(barrier);
    return all;
  }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings&,
                                   core::Bill& bill) const override {
    if (config_.is_single()) return std::make_unique<Lbm<float>>(config_, compute, bill);
    return std::make_unique<Lbm<double>>(config_, compute, bill);
  }

 private:
  solvers::LatticeKind lattice() const { return solvers::lattice_of(config_.geometry().domain); }
  double directions() const { return solvers::table_of(lattice()).directions(); }

  LbmConfig config_;
};

}  // namespace

SimulationEntry lbm_entry() {
  return {"lbm",
          "flow around barriers and between moving walls, by the lattice Boltzmann method",
          {"mesh", "lbm", "initial", "edge", "barrier"},
          [](const core::Node& root, core::Node& resolved) -> std::unique_ptr<SimulationPlan> {
            return std::make_unique<LbmPlan>(read_lbm(root, resolved));
          },
          lbm_options,
          [] { return lbm_quantities(solvers::LatticeKind::d3q19); }};
}

}  // namespace sidestream::sims
