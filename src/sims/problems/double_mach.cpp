#include <algorithm>
#include <cmath>

#include "sims/problems/parts.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[double_mach]`.
struct DoubleMachConfig {
  double end = 0.2;
};

core::Table<DoubleMachConfig> double_mach_table() {
  core::Table<DoubleMachConfig> table("A shock of Mach 10 that runs into a wall at 60 degrees");
  table.option("end", &DoubleMachConfig::end, 0.2).at_least(0.0).doc("time at which the run ends");
  return table;
}

/// The set-up of Woodward & Colella (1984, J. Comput. Phys. 54, 115, section IVc): the wall begins at x = 1/6, the
/// shock moves to the right and down.
class DoubleMach {
 public:
  explicit DoubleMach(double gamma) {
    const double square = mach * mach, u = 2.0 / (gamma + 1.0) * (mach - 1.0 / mach);
    ahead_ = gas_cell({gamma, {}, 1.0}, gamma);  // of sound speed 1
    behind_ = gas_cell({gamma * (gamma + 1.0) * square / ((gamma - 1.0) * square + 2.0),
                        {0.5 * root_of_three * u, -0.5 * u, 0.0},
                        (2.0 * gamma * square - (gamma - 1.0)) / (gamma + 1.0)},
                       gamma);
  }

  /// The undisturbed shock at `time`, averaged over a cell at eight by eight points.
  GasCell undisturbed(const mesh::Geometry& level, mesh::Int3 cell, double time) const {
    constexpr int points = 8;
    int count = 0;
    for (int m = 0; m < points; ++m)
      for (int n = 0; n < points; ++n)
        count += is_behind((cell.x + (n + 0.5) / points) * level.cell_size(0),
                           (cell.y + (m + 0.5) / points) * level.cell_size(1), time);
    const double share = static_cast<double>(count) / (points * points);
    GasMixture gas;
    gas.add(share, behind_);
    gas.add(1.0 - share, ahead_);
    return gas.cell();
  }

  /// Gas flows in from the left and above as the undisturbed shock has it, out to the right; below it is the gas behind
  /// the shock before the wall, and mirrored at the wall.
  void fill_outside(mesh::Field<double>& gas, const mesh::Geometry& level, double time) const {
    solvers::Boundaries boundaries;
    boundaries.side[0] = {solvers::BoundaryKind::user, solvers::BoundaryKind::outflow};
    boundaries.side[1] = {solvers::BoundaryKind::reflecting, solvers::BoundaryKind::user};
    boundaries.user = [&](mesh::Int3 cell, GasCell& state) { state = undisturbed(level, cell, time); };
    solvers::fill_boundary(gas, level, boundaries);
    for (int b = 0; b < gas.blocks(); ++b) {
      mesh::Box below = gas.box(b).grown(gas.ghosts().layers);
      below.hi.y = std::min(below.hi.y, 0);
      const auto view = gas.view(b);
      core::for_each_cell(below, [&](int k, int j, int i) {
        if ((i + 0.5) * level.cell_size(0) >= wall_begin) return;
        for (int c = 0; c < solvers::gas_components; ++c) view(c, k, j, i) = behind_[static_cast<std::size_t>(c)];
      });
    }
  }

 private:
  static constexpr double mach = 10.0, wall_begin = 1.0 / 6.0, root_of_three = 1.7320508075688772;

  static bool is_behind(double x, double y, double time) {
    return x < wall_begin + (y + 2.0 * mach * time) / root_of_three;
  }

  GasCell ahead_{}, behind_{};
};

GasProblem read_double_mach(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                            core::Node& resolved) {
  require_plane(root, "double_mach", cells);
  core::Node part;
  const DoubleMachConfig config = double_mach_table().read(table_or_empty(root, "double_mach"), &part);
  resolved.set("double_mach", part);
  const DoubleMach flow(hydro.gamma);
  GasProblem problem;
  problem.geometry = plane_geometry(cells, 4.0, 1.0, {false, false, true});
  problem.end = config.end;
  problem.is_closed = false;
  problem.boundary = [=](mesh::Field<double>& gas, const mesh::Geometry& level, double time) {
    flow.fill_outside(gas, level, time);
  };
  problem.initial = [=](const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry&) {
    return flow.undisturbed(level, cell, 0.0);
  };
  return problem;
}

}  // namespace

GasProblemEntry double_mach_problem() {
  return {"double_mach", "a strong shock reflected from a wedge", diatomic_gas(),
          [] { return double_mach_table().options(); }, read_double_mach};
}

}  // namespace sidestream::sims
