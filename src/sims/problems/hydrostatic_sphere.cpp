#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "sims/problems/parts.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[hydrostatic_sphere]`.
struct SphereConfig {
  double radius = 3.0, envelope = 1.5, warmth = 30.0, side = 12.0, end = 6.0;
};

core::Table<SphereConfig> sphere_table() {
  core::Table<SphereConfig> table(
      "A sphere of isothermal gas that its own gravity and the pressure of warm gas around it hold together. Units: "
      "4 pi G, the central density and p / rho inside are 1");
  table.option("radius", &SphereConfig::radius, 3.0)
      .range(0.1, 100.0)
      .doc("radius of the isothermal part; beyond 6.45 the sphere is not stable if gamma is near 1");
  table.option("envelope", &SphereConfig::envelope, 1.5)
      .range(0.01, 100.0)
      .doc("width of the shell around it in which the temperature rises");
  table.option("warmth", &SphereConfig::warmth, 30.0)
      .range(1.0, 1e4)
      .doc("temperature around the sphere over that inside");
  table.option("side", &SphereConfig::side, 12.0).range(0.1, 1000.0).doc("side of the cubic domain");
  table.option("end", &SphereConfig::end, 6.0)
      .at_least(0.0)
      .doc("time at which the run ends; twice the radius is one crossing at the isothermal speed of sound");
  return table;
}

/// Density and pressure against radius, from dp/dr = -rho m / r^2, dm/dr = rho r^2, where p / rho is 1 up to the radius
/// of the sphere and rises to `warmth` through the envelope, with two continuous derivatives. Inside it is the
/// isothermal sphere (Emden 1907; Ebert 1955 and Bonnor 1956 for those under pressure).
class Profile {
 public:
  explicit Profile(const SphereConfig& config) : config_(config) {
    // To the farthest corner of the ghost cells of a coarse mesh.
    const double reach = 2.0 * config.side;
    const auto count = static_cast<std::size_t>(reach / step) + 2;
    double p = 1.0, m = 0.0;
    for (std::size_t n = 0; n < count; ++n) {
      pressure_.push_back(p);
      advance(static_cast<double>(n) * step, p, m);
    }
  }

  PointGas at(double r) const {
    const double place = r / step;
    const std::size_t n = std::min(static_cast<std::size_t>(place), pressure_.size() - 2);
    const double part = place - static_cast<double>(n);
    const double p = (1.0 - part) * pressure_[n] + part * pressure_[n + 1];
    return {p / temperature(r), {}, p};
  }

 private:
  static constexpr double step = 1e-3;

  double temperature(double r) const {
    const double x = std::clamp((r - config_.radius) / config_.envelope, 0.0, 1.0);
    return 1.0 + (config_.warmth - 1.0) * x * x * x * (10.0 + x * (6.0 * x - 15.0));
  }
  // Derivatives of pressure and of mass / 4 pi.
  std::array<double, 2> slopes(double r, double p, double m) const {
    const double rho = p / temperature(r);
    return {r > 0.0 ? -rho * m / (r * r) : 0.0, rho * r * r};
  }
  // By the classical method of Runge and Kutta.
  void advance(double r, double& p, double& m) const {
    const auto a = slopes(r, p, m);
    const auto b = slopes(r + 0.5 * step, p + 0.5 * step * a[0], m + 0.5 * step * a[1]);
    const auto c = slopes(r + 0.5 * step, p + 0.5 * step * b[0], m + 0.5 * step * b[1]);
    const auto d = slopes(r + step, p + step * c[0], m + step * c[1]);
    p += step / 6.0 * (a[0] + 2.0 * b[0] + 2.0 * c[0] + d[0]);
    m += step / 6.0 * (a[1] + 2.0 * b[1] + 2.0 * c[1] + d[1]);
  }

  SphereConfig config_;
  std::vector<double> pressure_;  // at the multiples of `step`
};

struct Sphere {
  SphereConfig config;
  double gamma;
  std::shared_ptr<const Profile> profile;

  /// The mean of a cell by two Gaussian points an axis, of the fourth order.
  GasCell cell(const mesh::Geometry& level, mesh::Int3 cell) const {
    constexpr std::array<double, 2> node{0.2113248654051871, 0.7886751345948129};
    GasMixture gas;
    for (const double z : node)
      for (const double y : node)
        for (const double x : node) {
          const double dx = (cell.x + x) * level.cell_size(0) - 0.5 * config.side,
                       dy = (cell.y + y) * level.cell_size(1) - 0.5 * config.side,
                       dz = (cell.z + z) * level.cell_size(2) - 0.5 * config.side;
          gas.add(0.125, gas_cell(profile->at(std::sqrt(dx * dx + dy * dy + dz * dz)), gamma));
        }
    return gas.cell();
  }

  void fill_outside(mesh::Field<double>& gas, const mesh::Geometry& level) const {
    solvers::Boundaries boundaries;
    for (auto& axis : boundaries.side) axis.fill(solvers::BoundaryKind::user);
    boundaries.user = [&](mesh::Int3 at, GasCell& state) { state = cell(level, at); };
    solvers::fill_boundary(gas, level, boundaries);
  }

  nlohmann::json measure(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const {
    MeanDifference error;
    for_each_leaf_cell<1>(snapshot, {"gas_density"},
                          [&](int, const mesh::Geometry& level, mesh::Int3 at, const std::array<double, 1>& values) {
                            error.add(values[0] - cell(level, at)[solvers::density], level.cell_volume());
                          });
    return {{"density_l1_error", error.value(comm)}};
  }
};

void check(const core::Node& root, mesh::Int3 cells, const SphereConfig& config) {
  if (cells.x != cells.y || cells.x != cells.z)
    reject_cells(root, "the domain of the problem `hydrostatic_sphere` is a cube", "write `cells = [32, 32, 32]`");
  if (2.0 * (config.radius + config.envelope) < config.side) return;
  core::reject(table_or_empty(root, "hydrostatic_sphere"), "the sphere and its envelope do not fit into the domain",
               fmt::format("set `hydrostatic_sphere.side` above {}", 2.0 * (config.radius + config.envelope)));
}

GasProblem read_hydrostatic_sphere(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                                   core::Node& resolved) {
  core::Node part;
  const SphereConfig config = sphere_table().read(table_or_empty(root, "hydrostatic_sphere"), &part);
  resolved.set("hydrostatic_sphere", part);
  check(root, cells, config);
  const Sphere sphere{config, hydro.gamma, std::make_shared<const Profile>(config)};
  GasProblem problem;
  problem.geometry = {mesh::domain_of(cells), {config.side, config.side, config.side}, {false, false, false}};
  problem.end = config.end;
  problem.is_closed = false;
  problem.four_pi_g = 1.0;
  problem.boundary = [=](mesh::Field<double>& gas, const mesh::Geometry& level, double) {
    sphere.fill_outside(gas, level);
  };
  problem.initial = [=](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return sphere.cell(level, cell);
  };
  problem.measure = [=](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
    return sphere.measure(comm, snapshot);
  };
  return problem;
}

}  // namespace

GasProblemEntry hydrostatic_sphere_problem() {
  return {"hydrostatic_sphere",
          "a sphere of gas at rest in its own gravity",
          {},
          [] { return sphere_table().options(); },
          read_hydrostatic_sphere};
}

}  // namespace sidestream::sims
