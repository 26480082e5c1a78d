#include <fmt/format.h>

#include <cmath>

#include "mesh_config.hpp"
#include "part_timer.hpp"
#include "registry.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/boundary.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;

/// The keys of `[sod]`; the defaults are Sod's (1978, J. Comput. Phys. 27, 1).
struct SodConfig {
  std::string axis = "x";
  double end = 0.2;
  double density_left = 1.0, pressure_left = 1.0, velocity_left = 0.0;
  double density_right = 0.125, pressure_right = 0.1, velocity_right = 0.0;

  int axis_index() const { return axis[0] - 'x'; }
};

core::Table<SodConfig> sod_table() {
  core::Table<SodConfig> table("A shock tube of unit length, opened in the middle");
  table.option("axis", &SodConfig::axis, "x").one_of({"x", "y", "z"}).doc("axis of the tube");
  table.option("end", &SodConfig::end, 0.2).at_least(0.0).doc("time at which the run ends");
  table.option("density_left", &SodConfig::density_left, 1.0).at_least(1e-30).doc("density below the middle");
  table.option("pressure_left", &SodConfig::pressure_left, 1.0).at_least(1e-30).doc("pressure below the middle");
  table.option("velocity_left", &SodConfig::velocity_left, 0.0).doc("velocity below the middle");
  table.option("density_right", &SodConfig::density_right, 0.125).at_least(1e-30).doc("density above the middle");
  table.option("pressure_right", &SodConfig::pressure_right, 0.1).at_least(1e-30).doc("pressure above the middle");
  table.option("velocity_right", &SodConfig::velocity_right, 0.0).doc("velocity above the middle");
  return table;
}

struct SodSetup {
  MeshConfig mesh;
  SodConfig sod;
  solvers::HydroConfig hydro;

  mesh::Geometry geometry() const {
    const mesh::Int3 cells = mesh.extent();
    const double size = 1.0 / cells[sod.axis_index()];
    mesh::Geometry geometry{
        mesh::domain_of(cells), {size * cells.x, size * cells.y, size * cells.z}, {true, true, true}};
    geometry.periodic[static_cast<std::size_t>(sod.axis_index())] = false;
    return geometry;
  }
};

/// A shock tube: the gas solver alone.
class Sod : public Simulation {
 public:
  Sod(const SodSetup& setup, const comm::Communicator& comm)
      : setup_(setup),
        comm_(comm),
        geometry_(setup.geometry()),
        layout_(mesh::Forest(setup.mesh.extent(), setup.mesh.block, geometry_.periodic).layout(comm.size())),
        hydro_(setup.hydro, geometry_),
        ghosts_(comm, layout_, solvers::hydro_ghost),
        gas_(layout_, comm.rank(), solvers::gas_components, solvers::hydro_ghost) {}

  void initialize() override {
    const int axis = setup_.sod.axis_index();
    const double middle = 0.5 * geometry_.domain.hi[axis];
    for (int b = 0; b < gas_.blocks(); ++b) {
      const auto gas = gas_.view(b);
      core::for_each_cell(gas_.box(b), [&](int k, int j, int i) {
        const bool is_left = mesh::Int3{i, j, k}[axis] + 0.5 < middle;
        const auto& sod = setup_.sod;
        const double rho = is_left ? sod.density_left : sod.density_right;
        gas(solvers::density, k, j, i) = rho;
        gas(solvers::momentum_x + axis, k, j, i) = rho * (is_left ? sod.velocity_left : sod.velocity_right);
        gas(solvers::internal_energy, k, j, i) =
            (is_left ? sod.pressure_left : sod.pressure_right) / (setup_.hydro.gamma - 1.0);
      });
    }
    solvers::set_total_energy(gas_);
  }

  void restore(const io::Checkpoint& checkpoint) override {
    step_ = checkpoint.step();
    time_ = checkpoint.attribute("time");
    checkpoint.read_field("gas", gas_);
  }

  void advance() override {
    timed(seconds_, "hydro", [&] { dt_ = comm_.min(hydro_.largest_step(gas_)); });
    const bool is_last = time_ + dt_ >= setup_.sod.end;
    if (is_last) dt_ = setup_.sod.end - time_;
    timed(seconds_, "ghost exchange", [&] {
      ghosts_.fill(gas_);
      solvers::fill_boundary(gas_, geometry_, {});
    });
    timed(seconds_, "hydro", [&] { hydro_.advance(gas_, dt_); });
    time_ = is_last ? setup_.sod.end : time_ + dt_;
    ++step_;
  }

  std::int64_t step() const override { return step_; }
  std::optional<double> redshift() const override { return std::nullopt; }
  double progress() const override { return time_ >= setup_.sod.end ? 1.0 : time_ / setup_.sod.end; }
  nlohmann::json status() const override { return {{"time", time_}, {"dt", dt_}, {"dt_limit", "gas"}}; }

  mesh::Snapshot snapshot() override {
    mesh::Snapshot snapshot;
    snapshot.step = step_;
    snapshot.time = time_;
    snapshot.attributes = {{"time", time_}};
    snapshot.geometry = geometry_;
    snapshot.layout = layout_;
    const auto provide = [&](std::string name, int component, double factor, bool per_mass) {
      snapshot.add(std::move(name), "1", [this, component, factor, per_mass] {
        return std::make_shared<const Field<double>>(quantity(component, factor, per_mass));
      });
    };
    provide("gas_density", solvers::density, 1.0, false);
    provide("pressure", solvers::internal_energy, setup_.hydro.gamma - 1.0, false);
    for (int axis = 0; axis < 3; ++axis)
      provide(fmt::format("velocity_{}", "xyz"[axis]), solvers::momentum_x + axis, 1.0, true);
    return snapshot;
  }

  void write_plotfile(const io::PlotfileFormat& format, const std::string& path) override {
    io::PlotfileContent content;
    content.step = step_;
    content.time = time_;
    content.geometry = geometry_;
    content.fields = {{"density", &gas_, solvers::density, 1.0},    {"xmom", &gas_, solvers::momentum_x, 1.0},
                      {"ymom", &gas_, solvers::momentum_y, 1.0},    {"zmom", &gas_, solvers::momentum_z, 1.0},
                      {"rho_E", &gas_, solvers::total_energy, 1.0}, {"rho_e", &gas_, solvers::internal_energy, 1.0}};
    format.write(comm_, path, content);
  }

  io::CheckpointContent checkpoint() const override {
    io::CheckpointContent content;
    content.step = step_;
    content.attributes = {{"time", time_}};
    content.fields.emplace_back("gas", &gas_);
    return content;
  }

  const PartSeconds& seconds() const override { return seconds_; }

 private:
  Field<double> quantity(int component, double factor, bool per_mass) const {
    Field<double> out(layout_, comm_.rank());
    for (int b = 0; b < out.blocks(); ++b) {
      const auto to = out.view(b);
      const auto gas = gas_.view(b);
      core::for_each_cell(out.box(b), [=](int k, int j, int i) {
        const double value = factor * gas(component, k, j, i);
        to(k, j, i) = per_mass ? value / gas(solvers::density, k, j, i) : value;
      });
    }
    return out;
  }

  SodSetup setup_;
  const comm::Communicator& comm_;
  mesh::Geometry geometry_;
  mesh::Layout layout_;
  solvers::Hydro hydro_;
  redistribute::GhostFill ghosts_;
  Field<double> gas_;
  std::int64_t step_ = 0;
  double time_ = 0.0, dt_ = 0.0;
  PartSeconds seconds_;
};

class SodPlan : public SimulationPlan {
 public:
  explicit SodPlan(SodSetup setup) : setup_(std::move(setup)) {}

  mesh::Int3 cells() const override { return setup_.mesh.extent(); }
  double memory_bytes() const override {
    double per_cell = 8.0 * solvers::gas_components;
    for (int axis = 0; axis < 3; ++axis)
      if (const double n = std::min(setup_.mesh.block, cells()[axis]); n >= 1)
        per_cell *= (n + 2.0 * solvers::hydro_ghost) / n;
    return per_cell * static_cast<double>(cells().product());
  }
  bool has_redshift() const override { return false; }
  std::vector<std::string> fields() const override {
    return {"gas_density", "pressure", "velocity_x", "velocity_y", "velocity_z"};
  }
  nlohmann::json description() const override {
    const mesh::Int3 n = cells();
    return {{"cells", {n.x, n.y, n.z}}, {"block", setup_.mesh.block}, {"end", setup_.sod.end}};
  }
  std::unique_ptr<Simulation> make(const comm::Communicator& compute, const std::vector<double>&) const override {
    return std::make_unique<Sod>(setup_, compute);
  }

 private:
  SodSetup setup_;
};

std::unique_ptr<SimulationPlan> read_sod(const core::Node& root, core::Node& resolved) {
  SodSetup setup;
  setup.mesh = read_mesh(root, resolved);
  core::Node part;
  setup.sod = sod_table().read(table_or_empty(root, "sod"), &part);
  resolved.set("sod", part);
  setup.hydro = solvers::hydro_table().read(table_or_empty(root, "hydro"), &part);
  solvers::check(setup.hydro);
  resolved.set("hydro", part);
  return std::make_unique<SodPlan>(setup);
}

}  // namespace

SimulationEntry sod_entry() {
  return {"sod", "a shock tube: the gas solver alone", {"mesh", "sod", "hydro"}, read_sod, [] {
            return std::map<std::string, std::vector<core::Option>>{{"mesh", mesh_table().options()},
                                                                    {"sod", sod_table().options()},
                                                                    {"hydro", solvers::hydro_table().options()}};
          }};
}

}  // namespace sidestream::sims
