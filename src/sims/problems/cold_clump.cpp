#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "sims/problems/parts.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[cold_clump]`.
struct ClumpConfig {
  double contrast = 10.0, radius = 0.125, mach = 1000.0, rounds = 1.0;
};

core::Table<ClumpConfig> clump_table() {
  core::Table<ClumpConfig> table("A clump of cold gas that flies through warmer gas of its pressure and velocity");
  table.option("contrast", &ClumpConfig::contrast, 10.0)
      .range(1.0, 1e30)
      .doc("density in its middle over that far away, where density and speed of sound are 1");
  table.option("radius", &ClumpConfig::radius, 0.125)
      .range(1e-3, 0.25)
      .doc("standard deviation of the clump, which has the shape of a bell, in sides of the box along x");
  table.option("mach", &ClumpConfig::mach, 1000.0)
      .range(0.0, largest_speed)
      .doc("velocity along x in speeds of sound of the middle of the clump; half of it along y and a quarter along z");
  table.option("rounds", &ClumpConfig::rounds, 1.0)
      .at_least(0.0)
      .doc("how often the clump crosses the box along x before the run ends");
  return table;
}

/// The exact solution: nothing but motion, because pressure and velocity are the same everywhere.
class Clump {
 public:
  Clump(const ClumpConfig& config, double gamma, const mesh::Geometry& geometry)
      : config_(config), gamma_(gamma), geometry_(geometry) {}

  double speed() const { return config_.mach / std::sqrt(config_.contrast); }
  double pressure() const { return 1.0 / gamma_; }

  /// Density in the middle of a cell.
  double density(const mesh::Geometry& level, mesh::Int3 cell, double time) const {
    double squares = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      if (geometry_.domain.hi[axis] == 1) continue;
      const double side = geometry_.length[static_cast<std::size_t>(axis)];
      const double x = (cell[axis] + 0.5) * level.cell_size(axis) - 0.5 * side - velocity(axis) * time;
      const double nearest = x - side * std::floor(x / side + 0.5);
      squares += nearest * nearest;
    }
    return 1.0 + (config_.contrast - 1.0) * core::exp(-0.5 * squares / (config_.radius * config_.radius));
  }

  GasCell cell(const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry& finest) const {
    double rho = 0.0;
    const mesh::Box children = children_of(cell, level, finest);
    core::for_each_cell(children, [&](int k, int j, int i) { rho += density(finest, {i, j, k}, 0.0); });
    rho /= static_cast<double>(children.volume());
    PointGas gas{rho, {}, pressure()};
    for (int axis = 0; axis < 3; ++axis) gas.velocity[static_cast<std::size_t>(axis)] = velocity(axis);
    return gas_cell(gas, gamma_);
  }

  // Gas at one pressure that mixes keeps it: less entropy than gas of its density had at the start has none by right.
  nlohmann::json measure(const comm::Communicator& comm, const mesh::Snapshot& snapshot) const {
    double error = 0.0, least_entropy = std::numeric_limits<double>::infinity();
    for_each_leaf_cell<2>(snapshot, {"gas_density", "pressure"},
                          [&](int, const mesh::Geometry& level, mesh::Int3 at, const std::array<double, 2>& values) {
                            const auto [rho, p] = values;
                            const double exact = density(level, at, snapshot.moment.time);
                            least_entropy = std::min(least_entropy, p / pressure());
                            if (2.0 * exact < config_.contrast + 1.0) return;
                            error = std::max(error, std::fabs(p / rho * exact / pressure() - 1.0));
                          });
    return {{"temperature_error", comm.max(error)}, {"least_entropy", comm.min(least_entropy)}};
  }

 private:
  double velocity(int axis) const {
    return geometry_.domain.hi[axis] == 1 ? 0.0 : speed() / static_cast<double>(1 << axis);
  }
  static mesh::Box children_of(mesh::Int3 cell, const mesh::Geometry& level, const mesh::Geometry& finest) {
    mesh::Box box{cell, cell + mesh::Int3{1, 1, 1}};
    for (int axis = 0; axis < 3; ++axis) {
      const int ratio = finest.domain.hi[axis] / level.domain.hi[axis];
      box.lo[axis] *= ratio;
      box.hi[axis] *= ratio;
    }
    return box;
  }

  ClumpConfig config_;
  double gamma_;
  mesh::Geometry geometry_;
};

GasProblem read_cold_clump(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                           core::Node& resolved) {
  core::Node part;
  const ClumpConfig config = clump_table().read(table_or_empty(root, "cold_clump"), &part);
  resolved.set("cold_clump", part);
  if (cells.x == 1) reject_cells(root, "the clump flies along x", "write for example `cells = [64, 64, 64]`");
  const double size = 1.0 / cells.x;
  GasProblem problem;
  problem.geometry = {mesh::domain_of(cells), {1.0, size * cells.y, size * cells.z}, {true, true, true}};
  const Clump clump(config, hydro.gamma, problem.geometry);
  problem.end = clump.speed() > 0.0 ? config.rounds / clump.speed() : config.rounds;
  problem.initial = [=](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry& finest) {
    return clump.cell(level, cell, finest);
  };
  problem.measure = [=](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
    return clump.measure(comm, snapshot);
  };
  return problem;
}

}  // namespace

GasProblemEntry cold_clump_problem() {
  return {
      "cold_clump", "a clump of cold gas in fast flight", {}, [] { return clump_table().options(); }, read_cold_clump};
}

}  // namespace sidestream::sims
