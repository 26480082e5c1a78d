#include "sidestream/solvers/hydro.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "solvers/hydro/gas_rows.hpp"
#include "solvers/hydro/hydro_repair.hpp"
#include "solvers/hydro/hydro_sweep.hpp"

namespace sidestream::solvers {

namespace {

std::array<bool, 3> active_axes(const mesh::Geometry& geometry) {
  const mesh::Int3 cells = geometry.domain.extent();
  return {cells.x > 1, cells.y > 1, cells.z > 1};
}

mesh::Int3 largest_extent(const mesh::Field<double>& state) {
  mesh::Int3 largest{1, 1, 1};
  for (int b = 0; b < state.blocks(); ++b)
    for (int axis = 0; axis < 3; ++axis) largest[axis] = std::max(largest[axis], state.box(b).extent()[axis]);
  return largest;
}

/// Blocks are swept in slices of so many rows along y: the fewer, the less scratch memory and the more cells beside the
/// slices that are computed twice. Where there are many blocks, nearly three megabytes for slices of 32 by 32 do not
/// count.
std::int32_t rows_in_slice(mesh::Int3 largest, int blocks) {
  constexpr std::int32_t few = 16, many = 32;
  return largest.x <= many && blocks >= 16 ? many : few;
}

/// Those of the sides of `box` that `slice` shares.
amr::SideViews sides_of(const mesh::Box& slice, const mesh::Box& box, amr::SideViews sides) {
  if (slice.lo.y != box.lo.y) sides[1][0] = {};
  if (slice.hi.y != box.hi.y) sides[1][1] = {};
  return sides;
}

/// Density and internal energy of a block as they were.
class EnergyBefore {
 public:
  void copy(core::View4<const double> state, const mesh::Box& box) {
    const mesh::Int3 n = box.extent();
    values_.resize(2 * static_cast<std::size_t>(box.volume()));
    view_ = {values_.data(), box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 2};
    core::for_each_row(box, [&](int k, int j) {
      std::copy_n(&state(density, k, j, box.lo.x), n.x, &view_(0, k, j, box.lo.x));
      std::copy_n(&state(internal_energy, k, j, box.lo.x), n.x, &view_(1, k, j, box.lo.x));
    });
  }
  core::View4<const double> view() const { return view_; }

 private:
  std::vector<double> values_;
  core::View4<double> view_;
};

}  // namespace

core::Table<HydroConfig> hydro_table(const HydroConfig& standard) {
  core::Table<HydroConfig> table("Gas dynamics");
  table.option("gamma", &HydroConfig::gamma, standard.gamma).range(1.001, 10.0).doc("Ratio of specific heats");
  table.option("cfl", &HydroConfig::cfl, standard.cfl).range(1e-6, 1.0).doc("Courant number of the hydrodynamic step");
  table.option("riemann", &HydroConfig::riemann, standard.riemann).one_of({"two-shock", "hllc"}).doc("Riemann solver");
  table.option("dual_energy_eta", &HydroConfig::dual_energy_eta, standard.dual_energy_eta)
      .range(0.0, 1.0)
      .doc("Share of internal in total energy below which the internal energy is advanced by itself; 0: never");
  table.option("density_floor", &HydroConfig::density_floor, standard.density_floor).at_least(0.0).doc("Least density");
  table.option("internal_energy_floor", &HydroConfig::internal_energy_floor, standard.internal_energy_floor)
      .at_least(0.0)
      .doc("Least internal energy per mass");
  table.option("flattening", &HydroConfig::flattening, standard.flattening)
      .one_of({"shocks", "compressions", "none"})
      .doc(
          "Where the reconstruction is flattened: in strong shocks; in all compressions with a jump of pressure along "
          "any axis, as Nyx does (which smears cold gas that falls together); nowhere");
  return table;
}

void check(const HydroConfig& config) {
  core::require(config.gamma > 1.0, "gamma of a gas is above 1");
  core::require(config.cfl > 0.0 && config.cfl <= 1.0, "the Courant number of the gas is in (0, 1]");
  core::require(config.riemann == "two-shock" || config.riemann == "hllc",
                "the Riemann solvers are two-shock and hllc");
  core::require(config.flattening == "shocks" || config.flattening == "compressions" || config.flattening == "none",
                "the reconstruction is flattened in shocks, compressions or none");
  core::require(config.dual_energy_eta >= 0.0 && config.dual_energy_eta <= 1.0, "eta of the dual energy is in [0, 1]");
  core::require(config.density_floor >= 0.0 && config.internal_energy_floor >= 0.0,
                "floors of the gas are not negative");
}

HydroBooks& HydroBooks::operator+=(const HydroBooks& other) {
  first_order_cells += other.first_order_cells;
  density_floors += other.density_floors;
  energy_floors += other.energy_floors;
  floor_mass += other.floor_mass;
  floor_energy += other.floor_energy;
  return *this;
}

Hydro::Hydro(const HydroConfig& config, const mesh::Geometry& geometry) : config_(config), geometry_(geometry) {
  check(config_);
}

FastestWave::FastestWave(const HydroConfig& config, const mesh::Geometry& geometry)
    : cfl_(config.cfl), square_factor_(config.gamma * (config.gamma - 1.0)) {
  const auto active = active_axes(geometry);
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (active[axis]) inverse_size_[axis] = 1.0 / geometry.cell_size(static_cast<int>(axis));
}

void FastestWave::look_at(core::View4<const double> state, const mesh::Box& box, int k, int j) {
  find_fastest(box.extent().x, square_factor_, inverse_size_, {&state(0, k, j, box.lo.x), state.stride_component()},
               rate_, others_);
}

double FastestWave::largest_step() const {
  if (!std::isfinite(rate_.value()) || !std::isfinite(others_.value())) return 0.0;
  return rate_.value() > 0.0 ? cfl_ / rate_.value() : std::numeric_limits<double>::infinity();
}

double Hydro::largest_step(const mesh::Field<double>& state) const {
  core::require(state.components() == gas_components, "a gas state has six components");
  FastestWave wave(config_, geometry_);
  for (int b = 0; b < state.blocks(); ++b)
    core::for_each_row(state.box(b), [&](int k, int j) { wave.look_at(state.view(b), state.box(b), k, j); });
  return wave.largest_step();
}

HydroBooks Hydro::advance(mesh::Field<double>& state, double dt, amr::SideFluxes* fluxes,
                          std::span<const BlockUse> uses, const HydroEpoch& epoch,
                          const std::function<void()>& meanwhile) const {
  core::require(state.components() == gas_components && state.ghosts().has_at_least(hydro_ghosts(geometry_.domain)),
                "a gas state has six components and four layers of ghost cells on axes of more than one cell");
  core::require(uses.empty() || uses.size() == static_cast<std::size_t>(state.blocks()),
                "each block of the gas has one use");
  if (state.blocks() == 0) return {};
  const auto active = active_axes(geometry_);
  std::array<double, 3> dt_over_dx{};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (active[axis]) dt_over_dx[axis] = dt / geometry_.cell_size(static_cast<int>(axis));
  HydroConfig config = config_;
  config.internal_energy_floor = std::max(config.internal_energy_floor, epoch.internal_energy_floor);
  const mesh::Int3 largest = largest_extent(state);
  const std::int32_t rows = std::min(largest.y, rows_in_slice(largest, state.blocks()));
  HydroSweep sweep(config, dt_over_dx, active, {largest.x, rows, largest.z}, rows < largest.y, epoch.source);
  HydroBooks repaired;
  EnergyBefore before;
  for (int b = 0; b < state.blocks(); ++b) {
    const BlockUse use = uses.empty() ? BlockUse::leaf : uses[static_cast<std::size_t>(b)];
    if (use == BlockUse::idle) continue;
    const double volume = use == BlockUse::leaf ? geometry_.cell_volume() : 0.0, worth = volume * epoch.worth;
    const mesh::Box box = state.box(b);
    const amr::SideViews sides = fluxes != nullptr ? fluxes->views(b) : amr::SideViews{};
    Repairs repairs;
    if (epoch.source != nullptr) before.copy(state.view(b), box);
    for (mesh::Box slice = box; slice.lo.y < box.hi.y; slice.lo.y = slice.hi.y) {
      slice.hi.y = std::min(slice.lo.y + rows, box.hi.y);
      sweep.advance(slice, state.view(b), repairs, sides_of(slice, box, sides), worth, slice.lo.y > box.lo.y);
      if (meanwhile) meanwhile();
    }
    repair({config, state.view(b), volume, worth, repaired}, box, repairs);
    if (epoch.source != nullptr) epoch.source->complete(box, before.view(), state.view(b), volume);
  }
  return repaired += sweep.books();
}

double kinetic_energy(double rho, double rho_u, double rho_v, double rho_w) {
  return kinetic(1.0 / rho, rho_u, rho_v, rho_w);
}

double sound_speed(double gamma, double rho, double rho_e) {
  return std::sqrt(gamma * pressure(gamma, rho_e) / rho);
}

namespace {

Rows row_of(const core::View4<double>& gas, const mesh::Box& box, int k, int j) {
  return {&gas(0, k, j, box.lo.x), gas.stride_component()};
}

}  // namespace

void kick(mesh::Field<double>& state, const mesh::Field<double>& acceleration, double factor, FastestWave* wave) {
  core::require(
      state.components() == gas_components && acceleration.components() == 3 && state.blocks() == acceleration.blocks(),
      "gas is accelerated by three components on its own blocks");
  for (int b = 0; b < state.blocks(); ++b) {
    const auto g = acceleration.view(b);
    const mesh::Box box = state.box(b);
    core::for_each_row(box, [&, u = state.view(b)](int k, int j) {
      const std::array<const double*, 3> along{&g(0, k, j, box.lo.x), &g(1, k, j, box.lo.x), &g(2, k, j, box.lo.x)};
      kick_row(box.extent().x, factor, along, row_of(u, box, k, j));
      if (wave != nullptr) wave->look_at(u, box, k, j);
    });
  }
}

void kick_by_potential(mesh::Field<double>& state, const mesh::Field<double>& potential, const mesh::Geometry& geometry,
                       double factor, FastestWave* wave) {
  core::require(state.components() == gas_components && potential.components() == 1 && potential.ghost() > 0 &&
                    state.blocks() == potential.blocks(),
                "gas is accelerated by a potential with ghost cells on its own blocks");
  const std::array<double, 3> over_two_dx{0.5 / geometry.cell_size(0), 0.5 / geometry.cell_size(1),
                                          0.5 / geometry.cell_size(2)};
  for (int b = 0; b < state.blocks(); ++b) {
    const auto phi = potential.view(b);
    const mesh::Box box = state.box(b);
    core::for_each_row(box, [&, u = state.view(b)](int k, int j) {
      kick_row_by_potential(box.extent().x, factor, &phi(k, j, box.lo.x), phi.stride_y(), phi.stride_z(), over_two_dx,
                            row_of(u, box, k, j));
      if (wave != nullptr) wave->look_at(u, box, k, j);
    });
  }
}

void expansion_source(mesh::Field<double>& state, double factor) {
  for (int b = 0; b < state.blocks(); ++b) {
    const auto u = state.view(b);
    core::for_each_cell(state.box(b).grown(state.ghosts().layers), [=](int k, int j, int i) {
      u(total_energy, k, j, i) += (factor - 1.0) * u(internal_energy, k, j, i);
      u(internal_energy, k, j, i) *= factor;
    });
  }
}

std::int64_t follow_total_energy(const HydroConfig& config, core::View4<double> state, const mesh::Box& cells,
                                 core::ExactSum* booked, double worth) {
  std::int64_t kept = 0;
  if (config.dual_energy_eta > 0.0) return kept;
  core::for_each_cell(cells, [&](int k, int j, int i) {
    const double moving = kinetic_energy(state(density, k, j, i), state(momentum_x, k, j, i),
                                         state(momentum_y, k, j, i), state(momentum_z, k, j, i));
    const double thermal = state(total_energy, k, j, i) - moving;
    if (thermal > 0.0) {
      state(internal_energy, k, j, i) = thermal;
    } else {
      if (booked != nullptr) booked->add(worth * (state(internal_energy, k, j, i) - thermal));
      state(total_energy, k, j, i) = state(internal_energy, k, j, i) + moving;
      ++kept;
    }
  });
  return kept;
}

void set_total_energy(mesh::Field<double>& state) {
  for (int b = 0; b < state.blocks(); ++b) {
    const auto u = state.view(b);
    core::for_each_cell(state.box(b), [=](int k, int j, int i) {
      u(total_energy, k, j, i) =
          u(internal_energy, k, j, i) +
          kinetic(1.0 / u(density, k, j, i), u(momentum_x, k, j, i), u(momentum_y, k, j, i), u(momentum_z, k, j, i));
    });
  }
}

}  // namespace sidestream::solvers
