#include <cmath>
#include <nlohmann/json.hpp>

#include "sims/problems/parts.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[vortex]`.
struct VortexConfig {
  double strength = 5.0, end = 10.0;
};

core::Table<VortexConfig> vortex_table() {
  core::Table<VortexConfig> table("A vortex that is carried along the diagonal of a periodic square of side 10");
  table.option("strength", &VortexConfig::strength, 5.0).at_least(0.0).doc("strength of the vortex");
  table.option("end", &VortexConfig::end, 10.0).at_least(0.0).doc("time at which the run ends; 10 is once round");
  return table;
}

/// The isentropic vortex of Shu (1998, ICASE 97-65, section 5): an exact solution that moves with the velocity (1, 1).
struct Vortex {
  static constexpr double side = 10.0;
  double strength, gamma;

  PointGas at(double x, double y, double time) const {
    const double dx = offset(x - time), dy = offset(y - time), square = dx * dx + dy * dy;
    const double turn = turn_at(square);
    const double temperature = temperature_where(turn);
    return {core::pow(temperature, 1.0 / (gamma - 1.0)),
            {1.0 - turn * dy, 1.0 + turn * dx, 0.0},
            core::pow(temperature, gamma / (gamma - 1.0))};
  }

  double turn_at(double square) const { return strength / (2.0 * M_PI) * core::exp(0.5 * (1.0 - square)); }
  double temperature_where(double turn) const { return 1.0 - (gamma - 1.0) / (2.0 * gamma) * turn * turn; }

  GasCell cell(const mesh::Geometry& level, mesh::Int3 cell, double time) const {
    GasMixture gas;
    for_each_node(level, cell,
                  [&](double weight, double x, double y) { gas.add(weight, gas_cell(at(x, y, time), gamma)); });
    return gas.cell();
  }

  nlohmann::json measure(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const {
    MeanDifference error;
    for_each_leaf_cell<1>(snapshot, {"gas_density"},
                          [&](int, const mesh::Geometry& level, mesh::Int3 at, const std::array<double, 1>& values) {
                            const double exact = cell(level, at, snapshot.moment.time)[solvers::density];
                            error.add(values[0] - exact, level.cell_volume());
                          });
    return {{"density_l1_error", error.value(comm)}};
  }

 private:
  /// From the nearest image of the middle.
  static double offset(double x) {
    const double from_middle = x - 0.5 * side;
    return from_middle - side * std::floor(from_middle / side + 0.5);
  }
};

GasProblem read_vortex(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                       core::Node& resolved) {
  require_plane(root, "vortex", cells);
  core::Node part;
  const VortexConfig config = vortex_table().read(table_or_empty(root, "vortex"), &part);
  resolved.set("vortex", part);
  const Vortex vortex{config.strength, hydro.gamma};
  if (!(vortex.temperature_where(vortex.turn_at(0.0)) > 0.0))
    core::reject(table_or_empty(root, "vortex"), "the vortex is so strong that there is a vacuum in its middle",
                 "set `vortex.strength` lower");
  GasProblem problem;
  problem.geometry = plane_geometry(cells, Vortex::side, Vortex::side, {true, true, true});
  problem.end = config.end;
  problem.initial = [=](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return vortex.cell(level, cell, 0.0);
  };
  problem.measure = [=](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
    return vortex.measure(comm, snapshot);
  };
  return problem;
}

}  // namespace

GasProblemEntry vortex_problem() {
  return {"vortex", "an isentropic vortex carried along", diatomic_gas(), [] { return vortex_table().options(); },
          read_vortex};
}

}  // namespace sidestream::sims
