#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sims/problems/parts.hpp"
#include "sims/problems/riemann_solution.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[sod]`; the defaults are Sod's (1978, J. Comput. Phys. 27, 1).
struct SodConfig {
  std::string axis = "x";
  double end = 0.2;
  double density_left = 1.0, pressure_left = 1.0, velocity_left = 0.0;
  double density_right = 0.125, pressure_right = 0.1, velocity_right = 0.0;

  int axis_index() const { return axis[0] - 'x'; }
  RiemannState left() const { return {density_left, velocity_left, pressure_left}; }
  RiemannState right() const { return {density_right, velocity_right, pressure_right}; }
};

core::Table<SodConfig> sod_table() {
  core::Table<SodConfig> table("A shock tube of unit length, opened in the middle");
  table.option("axis", &SodConfig::axis, "x").one_of({"x", "y", "z"}).doc("axis of the tube");
  table.option("end", &SodConfig::end, 0.2).at_least(0.0).doc("time at which the run ends");
  table.option("density_left", &SodConfig::density_left, 1.0)
      .range(least_amount, largest_amount)
      .doc("density below the middle");
  table.option("pressure_left", &SodConfig::pressure_left, 1.0)
      .range(least_amount, largest_amount)
      .doc("pressure below the middle");
  table.option("velocity_left", &SodConfig::velocity_left, 0.0)
      .range(-largest_speed, largest_speed)
      .doc("velocity below the middle");
  table.option("density_right", &SodConfig::density_right, 0.125)
      .range(least_amount, largest_amount)
      .doc("density above the middle");
  table.option("pressure_right", &SodConfig::pressure_right, 0.1)
      .range(least_amount, largest_amount)
      .doc("pressure above the middle");
  table.option("velocity_right", &SodConfig::velocity_right, 0.0)
      .range(-largest_speed, largest_speed)
      .doc("velocity above the middle");
  return table;
}

mesh::Geometry tube(mesh::Int3 cells, int axis) {
  const double size = 1.0 / cells[axis];
  mesh::Geometry geometry{mesh::domain_of(cells), {size * cells.x, size * cells.y, size * cells.z}, {true, true, true}};
  geometry.periodic[static_cast<std::size_t>(axis)] = false;
  return geometry;
}

GasCell initial_gas(const SodConfig& sod, double gamma, const mesh::Geometry& level, mesh::Int3 cell) {
  const int axis = sod.axis_index();
  const RiemannState side = cell[axis] + 0.5 < 0.5 * level.domain.hi[axis] ? sod.left() : sod.right();
  PointGas gas{side.rho, {}, side.p};
  gas.velocity[static_cast<std::size_t>(axis)] = side.u;
  return gas_cell(gas, gamma);
}

/// Whether no wave has reached an end of the tube by the end of the run, and no gas flows through it.
bool stays_inside(const SodConfig& sod, double gamma) {
  if (sod.velocity_left != 0.0 || sod.velocity_right != 0.0) return false;
  const RiemannSolution solution(sod.left(), sod.right(), gamma);
  return std::max(-solution.left_front(), solution.right_front()) * sod.end < 0.45;
}

/// Exact mean densities of the layers of cells along the tube.
std::vector<double> exact_layers(const RiemannSolution& solution, const mesh::Geometry& level, int axis, double time) {
  std::vector<double> layers;
  const double size = level.cell_size(axis), middle = 0.5 * level.length[static_cast<std::size_t>(axis)];
  for (int n = 0; n < level.domain.hi[axis]; ++n)
    layers.push_back(solution.mean_density(n * size - middle, (n + 1) * size - middle, time));
  return layers;
}

nlohmann::json measure(const SodConfig& sod, double gamma, const comm::Communicator& comm,
                       const mesh::Snapshot& snapshot) {
  const RiemannSolution solution(sod.left(), sod.right(), gamma);
  const int axis = sod.axis_index();
  std::vector<std::vector<double>> exact;
  for (int l = 0; l <= snapshot.finest_level(); ++l)
    exact.push_back(exact_layers(solution, snapshot.geometry.refined(l), axis, snapshot.moment.time));
  MeanDifference error;
  for_each_leaf_cell<1>(snapshot, {"gas_density"}, [&](int l, const auto& level, mesh::Int3 cell, const auto& values) {
    error.add(values[0] - exact[static_cast<std::size_t>(l)][static_cast<std::size_t>(cell[axis])],
              level.cell_volume());
  });
  return {{"density_l1_error", error.value(comm)}};
}

GasProblem read_sod(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro, core::Node& resolved) {
  core::Node part;
  const SodConfig sod = sod_table().read(table_or_empty(root, "sod"), &part);
  resolved.set("sod", part);
  const double gamma = hydro.gamma;
  GasProblem problem;
  problem.geometry = tube(cells, sod.axis_index());
  problem.end = sod.end;
  problem.is_closed = stays_inside(sod, gamma);
  problem.boundary = fill_with_outflow;
  problem.initial = [=](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return initial_gas(sod, gamma, level, cell);
  };
  if (!RiemannSolution::forms_vacuum(sod.left(), sod.right(), gamma))
    problem.measure = [=](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
      return measure(sod, gamma, comm, snapshot);
    };
  return problem;
}

}  // namespace

GasProblemEntry sod_problem() {
  return {"sod", "a shock tube", {}, [] { return sod_table().options(); }, read_sod};
}

}  // namespace sidestream::sims
