#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/symmetric.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sims/checks/soundness.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/files/file_state.hpp"
#include "sims/registry.hpp"
#include "sims/run/moments.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;

struct ExampleConfig {
  MeshConfig mesh;
  double diffusivity = 1.0, end = 0.0;

  // A periodic box of unit length along x, of cubic cells.
  mesh::Geometry geometry() const {
    const mesh::Int3 n = mesh.extent();
    const double size = 1.0 / n.x;
    return {mesh::domain_of(n), {1.0, size * n.y, size * n.z}, {true, true, true}};
  }
};

core::Table<ExampleConfig> example_table() {
  core::Table<ExampleConfig> table("Heat that spreads through a periodic box");
  table.option("diffusivity", &ExampleConfig::diffusivity, 1.0).range(1e-30, 1e30).doc("in the problem's units");
  table.option("end", &ExampleConfig::end, 0.01).at_least(0.0).doc("time at which the run ends");
  return table;
}

const mesh::Quantity heat{"heat", "1", "heat in a volume", true};

// One explicit step: each cell takes `number` times what its neighbours have more than it.
void spread(const Field<double>& from, double number, Field<double>& to) {
  const mesh::Int3 n = from.layout().domain().extent();
  const int x = n.x > 1, y = n.y > 1, z = n.z > 1;  // flat axes have no neighbours
  for (int b = 0; b < from.blocks(); ++b)
    core::for_each_cell(from.box(b), [=, u = from.view(b), out = to.view(b)](int k, int j, int i) {
      const double here = u(k, j, i);
      const auto more = [=](double left, double right) { return (left - here) + (right - here); };
      out(k, j, i) = here + number * core::symmetric_sum(more(u(k, j, i - x), u(k, j, i + x)),
                                                         more(u(k, j - y, i), u(k, j + y, i)),
                                                         more(u(k - z, j, i), u(k + z, j, i)));
    });
}

class Example : public Simulation {
 public:
  Example(const ExampleConfig& config, const comm::Communicator& comm, const couple::Landings& landings,
          core::Bill& bill)
      : config_(config),
        comm_(comm),
        landings_(landings.times, config.end),
        hierarchy_(mesh::Forest(config.mesh.extent(), config.mesh.block), config.geometry(), comm.size()),
        fill_(comm, hierarchy_.layout(0), ghosts()),
        heat_(hierarchy_.layout(0), comm.rank(), 1, ghosts()),
        next_(hierarchy_.layout(0), comm.rank(), 1, ghosts()),
        bill_(bill) {}

  // All heat is in the middle half of the box along x.
  void initialize() override {
    const std::int32_t n = config_.mesh.cells[0];
    for (int b = 0; b < heat_.blocks(); ++b)
      core::for_each_cell(heat_.box(b), [n, u = heat_.view(b)](int k, int j, int i) {
        u(k, j, i) = 4 * i >= n && 4 * i < 3 * n ? 2.0 : 0.0;
      });
    begin();
    start_ = total();
  }

  void restore(const mesh::Snapshot& state) override {
    state.read(heat.name, 0, heat_);
    step_ = state.moment.step;
    time_ = state.moment.time;
    begin();
    const auto kept = state.state_numbers.find("heat_start");
    start_ = kept != state.state_numbers.end() ? kept->second : total();
  }
  mesh::LevelLayouts blocks_for(const mesh::Snapshot& file) const override {
    check_mesh(file, config_.mesh, 0);
    return hierarchy_;
  }

  // The longest step that is stable, and shorter where an output or a task asks for a moment before its end.
  void advance() override {
    const double size = 1.0 / config_.mesh.cells[0];
    dt_ = size * size / (8.0 * config_.diffusivity);
    const double landing = landings_.next(time_);
    const bool lands = time_ + dt_ >= landing;
    if (lands) dt_ = landing - time_;
    core::timed(bill_, "ghost cells", [&] { fill_.fill(heat_); });
    core::timed(bill_, "diffusion", [&] { spread(heat_, config_.diffusivity * dt_ / (size * size), next_); });
    std::swap(heat_, next_);
    time_ = lands ? landing : time_ + dt_;
    ++step_;
  }

  void check_state() const override {
    bool is_finite = true;
    for (int b = 0; b < heat_.blocks(); ++b)
      core::for_each_cell(heat_.box(b), [&, u = heat_.view(b)](int k, int j, int i) {
        is_finite = is_finite && std::isfinite(u(k, j, i));
      });
    require_sound(comm_, is_finite ? "" : "the heat is not finite", fmt::format("step {}", step_));
  }

  mesh::Moment moment() const override { return {.step = step_, .time = time_}; }
  double progress() const override { return time_ >= config_.end ? 1.0 : time_ / config_.end; }
  nlohmann::json status() const override { return {{"time", time_}, {"dt", dt_}, {"dt_limit", "diffusion"}}; }
  nlohmann::json summary() const override { return {{"heat_error", std::fabs(total() / start_ - 1.0)}}; }

  mesh::Snapshot snapshot() override {
    mesh::Snapshot snapshot;
    snapshot.moment = moment();
    snapshot.moment.attributes = {{"time", time_}};
    snapshot.geometry = config_.geometry();
    snapshot.rank = comm_.rank();
    snapshot.levels = {hierarchy_.layout(0)};
    snapshot.state_numbers = {{"heat_start", start_}};
    snapshot.add_stored(heat, {mesh::FieldView<const double>(heat_)}, 0);
    return snapshot;
  }

 private:
  void begin() { check_state(); }
  mesh::Ghosts ghosts() const { return mesh::ghosts_of_active_axes(hierarchy_.geometry(0).domain, 1); }
  double total() const {
    core::ExactSum sum;
    for (int b = 0; b < heat_.blocks(); ++b)
      core::for_each_cell(heat_.box(b), [&, u = heat_.view(b)](int k, int j, int i) { sum.add(u(k, j, i)); });
    return comm_.sum(sum);
  }

  ExampleConfig config_;
  const comm::Communicator& comm_;
  Times landings_;
  mesh::Hierarchy hierarchy_;
  redistribute::GhostFill fill_;
  Field<double> heat_, next_;
  std::int64_t step_ = 0;
  double time_ = 0.0, dt_ = 0.0, start_ = 0.0;
  core::Bill& bill_;
};

class ExamplePlan : public SimulationPlan {
 public:
  explicit ExamplePlan(ExampleConfig config) : config_(config) {}

  mesh::Int3 cells() const override { return config_.mesh.extent(); }
  double memory_bytes() const override { return 2.0 * 8.0 * static_cast<double>(cells().product()); }
  couple::TimeKeeping times() const override {
    return {.has_redshift = false, .first_time = 0.0, .last_time = config_.end};
  }
  std::vector<mesh::Quantity> quantities() const override { return {heat}; }
  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    return {{"cells", {n.x, n.y, n.z}}, {"block", config_.mesh.block}, {"end", config_.end}};
  }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const couple::Landings& landings,
                                   core::Bill& bill) const override {
    return std::make_unique<Example>(config_, compute, landings, bill);
  }

 private:
  ExampleConfig config_;
};

std::unique_ptr<SimulationPlan> read(const core::Node& root, core::Node& resolved) {
  core::Node part;
  ExampleConfig config = example_table().read(table_or_empty(root, "example"), &part);
  config.mesh = read_mesh(root, resolved);
  resolved.set("example", part);
  return std::make_unique<ExamplePlan>(config);
}

}  // namespace

SimulationEntry example_entry() {
  return {"example",
          "heat that spreads through a periodic box",
          {"mesh", "example"},
          read,
          [] {
            return std::map<std::string, std::vector<core::Option>>{{"mesh", mesh_table().options()},
                                                                    {"example", example_table().options()}};
          },
          [] { return std::vector{heat}; }};
}

}  // namespace sidestream::sims
