#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "sidestream/core/symmetric.hpp"
#include "sims/problems/parts.hpp"
#include "sims/problems/sedov_solution.hpp"

namespace sidestream::sims {

namespace {

/// The keys of `[sedov]`; the defaults are those of the FLASH code (Fryxell et al. 2000, section 7.4).
struct SedovConfig {
  double energy = 1.0, ambient_density = 1.0, ambient_pressure = 1e-5, radius = 3.5, end = 0.05;
};

core::Table<SedovConfig> sedov_table() {
  core::Table<SedovConfig> table("A blast wave in the middle of the unit cube, or of the unit square");
  table.option("energy", &SedovConfig::energy, 1.0)
      .range(least_amount, largest_amount)
      .doc("energy of the explosion; in two dimensions per unit length");
  table.option("ambient_density", &SedovConfig::ambient_density, 1.0)
      .range(least_amount, largest_amount)
      .doc("density of the gas");
  table.option("ambient_pressure", &SedovConfig::ambient_pressure, 1e-5)
      .range(least_amount, largest_amount)
      .doc("its pressure");
  table.option("radius", &SedovConfig::radius, 3.5)
      .range(1.0, 1e4)
      .doc("radius in which the energy is released, in cells of the finest level");
  table.option("end", &SedovConfig::end, 0.05).at_least(0.0).doc("time at which the run ends");
  return table;
}

bool is_active(const mesh::Geometry& geometry, int axis) {
  return geometry.domain.hi[axis] > 1;
}

/// Where the energy is released: the cells of the finest level whose centres are within a radius of the middle.
class Deposit {
 public:
  Deposit(const mesh::Geometry& finest, double radius) : finest_(finest), radius_(radius) {
    const auto reach = static_cast<std::int32_t>(std::ceil(radius)) + 1;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int32_t middle = finest.domain.hi[axis] / 2;
      bounds_.lo[axis] = is_active(finest, axis) ? middle - reach : 0;
      bounds_.hi[axis] = is_active(finest, axis) ? middle + reach : 1;
    }
    bounds_ = intersection(bounds_, finest.domain);
    cells_ = cells_in(bounds_);
  }

  bool is_on(const mesh::Geometry& finest) const { return finest.domain == finest_.domain; }
  /// The sum of the volumes of the cells.
  double volume() const { return static_cast<double>(cells_) * finest_.cell_volume(); }

  /// The share of a cell of `level` that is in it.
  double share(const mesh::Geometry& level, mesh::Int3 cell) const {
    mesh::Box children;
    for (int axis = 0; axis < 3; ++axis) {
      const std::int32_t ratio = finest_.domain.hi[axis] / level.domain.hi[axis];
      children.lo[axis] = cell[axis] * ratio;
      children.hi[axis] = (cell[axis] + 1) * ratio;
    }
    return static_cast<double>(cells_in(intersection(children, bounds_))) / static_cast<double>(children.volume());
  }

 private:
  std::int64_t cells_in(const mesh::Box& box) const {
    std::int64_t count = 0;
    core::for_each_cell(box, [&](int k, int j, int i) { count += contains({i, j, k}); });
    return count;
  }
  bool contains(mesh::Int3 cell) const {
    std::int64_t square = 0;  // of twice the distance in cells
    for (int axis = 0; axis < 3; ++axis) {
      const std::int64_t twice = 2 * std::int64_t{cell[axis]} + 1 - finest_.domain.hi[axis];
      if (is_active(finest_, axis)) square += twice * twice;
    }
    return static_cast<double>(square) < 4.0 * radius_ * radius_;
  }

  mesh::Geometry finest_;
  double radius_;
  mesh::Box bounds_;
  std::int64_t cells_ = 0;
};

double distance_from_middle(const mesh::Geometry& level, mesh::Int3 cell) {
  std::array<double, 3> squares{};
  for (int axis = 0; axis < 3; ++axis) {
    const double offset = (cell[axis] + 0.5 - 0.5 * level.domain.hi[axis]) * level.cell_size(axis);
    squares[static_cast<std::size_t>(axis)] = offset * offset;
  }
  return std::sqrt(core::symmetric_sum(squares[0], squares[1], squares[2]));
}

/// Mean density in shells as thick as a cell of the finest level; cells count by their centres.
class ShellMeans {
 public:
  explicit ShellMeans(double thickness) : thickness_(thickness) {}

  void add(double radius, double rho, double volume) {
    const auto shell = static_cast<std::size_t>(radius / thickness_);
    if (shell >= masses_.size()) masses_.resize(shell + 1), volumes_.resize(shell + 1);
    masses_[shell].add(rho * volume);
    volumes_[shell].add(volume);
  }

  /// The radius outside the peak at which the density falls to half of the peak, linearly between shells; infinite when
  /// it does not. Collective.
  double outer_half_maximum(const comm::Communicator& comm) {
    const std::vector<Shell> shells = means(comm);
    if (shells.empty()) return std::numeric_limits<double>::infinity();
    auto shell = std::ranges::max_element(shells, {}, &Shell::rho);
    const double half = 0.5 * shell->rho;
    for (auto next = shell + 1; next != shells.end(); shell = next++)
      if (next->rho < half)
        return shell->radius + (shell->rho - half) / (shell->rho - next->rho) * (next->radius - shell->radius);
    return std::numeric_limits<double>::infinity();
  }

 private:
  struct Shell {
    double radius, rho;
  };
  std::vector<Shell> means(const comm::Communicator& comm) {
    const auto count = static_cast<std::size_t>(comm.max(static_cast<std::int64_t>(masses_.size())));
    masses_.resize(count), volumes_.resize(count);
    comm.sum(std::span(masses_)), comm.sum(std::span(volumes_));
    std::vector<Shell> shells;
    for (std::size_t n = 0; n < count; ++n)
      if (const double volume = volumes_[n].value(); volume > 0.0)
        shells.push_back({(static_cast<double>(n) + 0.5) * thickness_, masses_[n].value() / volume});
    return shells;
  }

  double thickness_;
  std::vector<core::ExactSum> masses_, volumes_;
};

/// The mean difference to the exact density is taken within this many shock radii (0.4 at the default end).
constexpr double radius_of_comparison = 1.2837;

/// A shock that ends within this radius has let nothing through the sides of the domain.
constexpr double largest_radius = 0.45;

/// The radius of the shock (the outer half maximum of the mean density in shells) and its difference to the exact one
/// in cells of the finest level there is, half a cell of it due to smearing; the mean difference of density to the
/// exact one within 1.28 exact radii.
nlohmann::json measure(const SedovConfig& config, const SedovSolution& solution, const comm::Communicator& comm,
                       const mesh::Snapshot& snapshot) {
  const double size = snapshot.geometry.refined(snapshot.finest_level()).cell_size(0);
  const double ambient = config.ambient_density;
  const double exact_radius = solution.shock_radius(config.energy, ambient, snapshot.moment.time);
  ShellMeans shells(size);
  MeanDifference difference;
  for_each_leaf_cell<1>(snapshot, {"gas_density"},
                        [&](int, const mesh::Geometry& level, mesh::Int3 cell, const std::array<double, 1>& values) {
                          const double volume = level.cell_volume(), r = distance_from_middle(level, cell);
                          shells.add(r, values[0], volume);
                          if (r < radius_of_comparison * exact_radius)
                            difference.add(values[0] - ambient * solution.at(r / exact_radius).rho, volume);
                        });
  const double radius = shells.outer_half_maximum(comm);
  const auto finite = [](double value) { return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(); };
  nlohmann::json measured{{"shock_radius", finite(radius)},
                          {"shock_radius_error", finite((radius - exact_radius) / size)},
                          {"density_l1_error", finite(difference.value(comm))}};
  if (!std::isfinite(radius))
    measured["shock_radius_missing"] =
        "outside of its peak the density falls nowhere to half of that: there is no shock";
  return measured;
}

void check_cells(const core::Node& root, mesh::Int3 cells) {
  if (cells.x == 1 || cells.y != cells.x || (cells.z != 1 && cells.z != cells.x))
    reject_cells(root, "the blast wave needs a cube or a square of cells",
                 "write for example `cells = [64, 64, 64]` or `cells = [64, 64, 1]`");
}

GasProblem read_sedov(const core::Node& root, mesh::Int3 cells, const solvers::HydroConfig& hydro,
                      core::Node& resolved) {
  check_cells(root, cells);
  core::Node part;
  const SedovConfig config = sedov_table().read(table_or_empty(root, "sedov"), &part);
  resolved.set("sedov", part);
  const double gamma = hydro.gamma;
  const int dimensions = cells.z > 1 ? 3 : 2;
  GasProblem problem;
  problem.geometry = {mesh::domain_of(cells), {1.0, 1.0, 1.0}, {false, false, dimensions == 2}};
  problem.end = config.end;
  problem.is_closed = false;
  problem.boundary = fill_with_outflow;
  problem.initial = [=, deposit = std::make_shared<std::optional<Deposit>>()](
                        const mesh::Geometry& level, mesh::Int3 cell, const mesh::Geometry& finest) {
    if (!*deposit || !(*deposit)->is_on(finest)) deposit->emplace(finest, config.radius);
    const double energy = config.energy * ((*deposit)->share(level, cell) / (*deposit)->volume());
    return gas_cell({config.ambient_density, {}, config.ambient_pressure + (gamma - 1.0) * energy}, gamma);
  };
  if (SedovSolution::exists(gamma)) {
    const SedovSolution solution(dimensions, gamma);
    problem.is_closed = solution.shock_radius(config.energy, config.ambient_density, config.end) < largest_radius;
    problem.measure = [=](const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
      return measure(config, solution, comm, snapshot);
    };
  }
  return problem;
}

solvers::HydroConfig standard() {
  solvers::HydroConfig config = diatomic_gas();
  config.flattening = "none";
  return config;
}

}  // namespace

GasProblemEntry sedov_problem() {
  return {"sedov", "a blast wave from a point", standard(), [] { return sedov_table().options(); }, read_sedov};
}

}  // namespace sidestream::sims
