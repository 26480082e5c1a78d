#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sims/problems/parts.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[kelvin_helmholtz]`.
struct KelvinHelmholtzConfig {
  double end = 1.5;
};

core::Table<KelvinHelmholtzConfig> kelvin_helmholtz_table() {
  core::Table<KelvinHelmholtzConfig> table("Layers of gas that slide along each other with smooth edges");
  table.option("end", &KelvinHelmholtzConfig::end, 1.5).at_least(0.0).doc("time at which the run ends");
  return table;
}

/// The set-up of McNally, Lyra & Passy (2012, ApJS 201, 18), section 2.
PointGas layers(double x, double y) {
  constexpr double edge = 0.025, p = 2.5, rho_outside = 1.0, rho_inside = 2.0, u_outside = 0.5, u_inside = -0.5;
  const auto smooth = [=](double outside, double inside) {
    const double half = 0.5 * (outside - inside), from_edge = std::min(std::fabs(y - 0.25), std::fabs(y - 0.75));
    const double fade = half * core::exp(-from_edge / edge);
    return y >= 0.25 && y < 0.75 ? inside + fade : outside - fade;
  };
  return {smooth(rho_outside, rho_inside), {smooth(u_outside, u_inside), 0.01 * core::sin(4.0 * M_PI * x), 0.0}, p};
}

GasCell initial_gas(const mesh::Geometry& level, mesh::Int3 cell, double gamma) {
  GasMixture gas;
  for_each_node(level, cell,
                [&](double weight, double x, double y) { gas.add(weight, gas_cell(layers(x, y), gamma)); });
  return gas.cell();
}

/// The amplitude of the growing mode (the same paper, eq. 10 to 13): near the edges, of one wave in half the box.
nlohmann::json mode_amplitude(const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
  std::array<core::ExactSum, 3> sums;
  for_each_leaf_cell<1>(snapshot, {"velocity_y"},
                        [&](int, const mesh::Geometry& level, mesh::Int3 cell, const std::array<double, 1>& values) {
                          const double x = (cell.x + 0.5) * level.cell_size(0), y = (cell.y + 0.5) * level.cell_size(1);
                          const double from_edge = std::fabs(y < 0.5 ? y - 0.25 : 0.75 - y);
                          const double weight = level.cell_volume() * core::exp(-4.0 * M_PI * from_edge);
                          sums[0].add(values[0] * core::sin(4.0 * M_PI * x) * weight);
                          sums[1].add(values[0] * core::cos(4.0 * M_PI * x) * weight);
                          sums[2].add(weight);
                        });
  comm.sum(std::span(sums));
  return {{"mode_amplitude", 2.0 * core::hypot(sums[0].value(), sums[1].value()) / sums[2].value()}};
}

GasProblem read_kelvin_helmholtz(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                                 core::Node& resolved) {
  require_plane(root, "kelvin_helmholtz", cells);
  core::Node part;
  const KelvinHelmholtzConfig config = kelvin_helmholtz_table().read(table_or_empty(root, "kelvin_helmholtz"), &part);
  resolved.set("kelvin_helmholtz", part);
  GasProblem problem;
  problem.geometry = plane_geometry(cells, 1.0, 1.0, {true, true, true});
  problem.end = config.end;
  problem.initial = [gamma = hydro.gamma](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return initial_gas(level, cell, gamma);
  };
  problem.measure = mode_amplitude;
  return problem;
}

}  // namespace

GasProblemEntry kelvin_helmholtz_problem() {
  solvers::HydroConfig standard;
  standard.dual_energy_eta = 0.0;
  return {"kelvin_helmholtz", "shear layers that roll up", standard, [] { return kelvin_helmholtz_table().options(); },
          read_kelvin_helmholtz};
}

}  // namespace sidestream::sims
