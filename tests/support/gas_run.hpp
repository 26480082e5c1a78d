#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/solvers/boundary.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::test {

/// Density, velocity and pressure at a point.
struct Gas {
  double rho = 1.0, u = 0.0, v = 0.0, w = 0.0, p = 1.0;
};

/// Steep waves that no two cells share a value of, so that no selection hangs on round-off.
inline Gas tangled(double x, double y, double z) {
  const auto wave = [=](double a, double b, double c) {
    constexpr double turn = 2.0 * M_PI;
    return std::sin(turn * x + a) + 0.8 * std::sin(turn * (y / 1.2) + b) * std::cos(turn * (z / 0.9) + c) +
           0.3 * std::sin(2.0 * turn * (z / 0.9) + a + c);
  };
  return {std::exp(wave(0.3, 1.1, 2.7)), 1.3 * wave(2.1, 0.4, 0.9), -0.9 * wave(1.7, 2.9, 0.2), wave(0.6, 1.9, 1.3),
          std::exp(1.1 * wave(1.2, 0.1, 2.2))};
}

/// The same with cold streams, which overthrow cells.
inline Gas cold_and_tangled(double x, double y, double z) {
  Gas gas = tangled(x, y, z);
  gas.p = 1e-4;
  return gas;
}

inline mesh::Geometry geometry_of(mesh::Int3 cells, std::array<double, 3> length,
                                  mesh::Periodicity periodic = {true, true, true}) {
  return {mesh::domain_of(cells), length, periodic};
}

/// A gas on a mesh and what advances it: the whole of a small simulation.
class GasRun {
 public:
  using Initial = std::function<Gas(double x, double y, double z)>;

  GasRun(const comm::Communicator& comm, const mesh::Geometry& geometry, const mesh::Layout& layout,
         const solvers::HydroConfig& config, solvers::Boundaries boundaries = {})
      : comm_(comm),
        geometry_(geometry),
        boundaries_(std::move(boundaries)),
        hydro_(config, geometry),
        fill_(comm, layout, solvers::hydro_ghost),
        state_(layout, comm.rank(), solvers::gas_components, solvers::hydro_ghost) {}

  /// Cells take the value of `initial` at their centres.
  void start(const Initial& initial) {
    for (int b = 0; b < state_.blocks(); ++b) {
      const auto view = state_.view(b);
      core::for_each_cell(state_.box(b), [&](int k, int j, int i) {
        set(view, k, j, i, initial(center(0, i), center(1, j), center(2, k)));
      });
    }
  }

  void step(double dt) {
    fill_.fill(state_);
    solvers::fill_boundary(state_, geometry_, boundaries_);
    counts += hydro_.advance(state_, dt);
    time += dt;
    ++steps;
  }
  double largest_step() const { return comm_.min(hydro_.largest_step(state_)); }
  void run(double t_end) {
    while (time < t_end) step(std::min(largest_step(), t_end - time));
  }

  /// Sum of a component over all cells of all ranks.
  double total(int component) const {
    core::ExactSum sum;
    for (int b = 0; b < state_.blocks(); ++b) {
      const auto view = state_.view(b);
      core::for_each_cell(state_.box(b), [&](int k, int j, int i) { sum.add(view(component, k, j, i)); });
    }
    return comm_.sum(sum);
  }

  /// Calls `f(gas, k, j, i)` for each cell of this rank.
  template <typename F>
  void for_each(F f) const {
    for (int b = 0; b < state_.blocks(); ++b) {
      const auto view = state_.view(b);
      core::for_each_cell(state_.box(b), [&](int k, int j, int i) { f(gas_at(view, k, j, i), k, j, i); });
    }
  }
  /// Mean over all cells of |value(gas) - exact(x, y, z)|.
  template <typename V, typename E>
  double mean_error(V value, E exact) const {
    core::ExactSum sum;
    for_each([&](const Gas& gas, int k, int j, int i) {
      sum.add(std::fabs(value(gas) - exact(center(0, i), center(1, j), center(2, k))));
    });
    return comm_.sum(sum) / static_cast<double>(geometry_.domain.volume());
  }

  Gas gas_at(core::View4<const double> u, int k, int j, int i) const {
    const double rho = u(solvers::density, k, j, i);
    return {rho, u(solvers::momentum_x, k, j, i) / rho, u(solvers::momentum_y, k, j, i) / rho,
            u(solvers::momentum_z, k, j, i) / rho,
            solvers::pressure(hydro_.config().gamma, u(solvers::internal_energy, k, j, i))};
  }
  double center(int axis, int cell) const { return (cell + 0.5) * geometry_.cell_size(axis); }

  const mesh::Field<double>& state() const { return state_; }
  mesh::Field<double>& state() { return state_; }

  double time = 0.0;
  int steps = 0;
  solvers::HydroBooks counts;

 private:
  void set(core::View4<double> u, int k, int j, int i, const Gas& gas) const {
    const double internal = gas.p / (hydro_.config().gamma - 1.0);
    u(solvers::density, k, j, i) = gas.rho;
    u(solvers::momentum_x, k, j, i) = gas.rho * gas.u;
    u(solvers::momentum_y, k, j, i) = gas.rho * gas.v;
    u(solvers::momentum_z, k, j, i) = gas.rho * gas.w;
    u(solvers::internal_energy, k, j, i) = internal;
    u(solvers::total_energy, k, j, i) =
        internal + solvers::kinetic_energy(gas.rho, gas.rho * gas.u, gas.rho * gas.v, gas.rho * gas.w);
  }

  const comm::Communicator& comm_;
  mesh::Geometry geometry_;
  solvers::Boundaries boundaries_;
  solvers::Hydro hydro_;
  redistribute::GhostFill fill_;
  mesh::Field<double> state_;
};

}  // namespace sidestream::test
