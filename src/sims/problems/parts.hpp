#pragma once

// What several problems are made of.

#include <array>
#include <cmath>
#include <string>

#include "sidestream/core/exact_sum.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/solvers/boundary.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/problems/gas_problem.hpp"

namespace sidestream::sims {

/// What densities, pressures and energies may be in any units (an explosion of 1e51 erg in gas of 1e-27 g/cm^3), and
/// speeds: products and sums of them stay finite.
constexpr double least_amount = 1e-30, largest_amount = 1e60, largest_speed = 1e30;

/// Density, velocity and pressure at a point.
struct PointGas {
  double rho = 1.0;
  std::array<double, 3> velocity{};
  double p = 1.0;
};

inline GasCell gas_cell(const PointGas& gas, double gamma) {
  GasCell cell{};
  cell[solvers::density] = gas.rho;
  for (std::size_t axis = 0; axis < 3; ++axis) cell[solvers::momentum_x + axis] = gas.rho * gas.velocity[axis];
  cell[solvers::internal_energy] = gas.p / (gamma - 1.0);
  cell[solvers::total_energy] =
      cell[solvers::internal_energy] + solvers::kinetic_energy(cell[solvers::density], cell[solvers::momentum_x],
                                                               cell[solvers::momentum_y], cell[solvers::momentum_z]);
  return cell;
}

/// The weighted sum of gases; `internal_energy` is then what the total leaves beside the kinetic energy.
class GasMixture {
 public:
  void add(double weight, const GasCell& gas) {
    for (std::size_t c = 0; c < sum_.size(); ++c) sum_[c] += weight * gas[c];
  }
  GasCell cell() const {
    GasCell cell = sum_;
    cell[solvers::internal_energy] =
        cell[solvers::total_energy] - solvers::kinetic_energy(cell[solvers::density], cell[solvers::momentum_x],
                                                              cell[solvers::momentum_y], cell[solvers::momentum_z]);
    return cell;
  }

 private:
  GasCell sum_{};
};

/// Calls `f(weight, x, y)` at points of a cell, with weights that add up to 1: the average of a function by
/// Gauss-Legendre quadrature with three points an axis, of the sixth order.
template <typename F>
void for_each_node(const mesh::Geometry& level, mesh::Int3 cell, F f) {
  constexpr std::array<double, 3> node{0.1127016653792583, 0.5, 0.8872983346207417},
      weight{5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
  for (std::size_t m = 0; m < node.size(); ++m)
    for (std::size_t n = 0; n < node.size(); ++n)
      f(weight[m] * weight[n], (cell.x + node[n]) * level.cell_size(0), (cell.y + node[m]) * level.cell_size(1));
}

/// Calls `f(l, level, cell, values)` for each cell of this rank's leaves (of level `l` with the geometry `level`) with
/// the values of the fields `names`.
template <std::size_t count, typename F>
void for_each_leaf_cell(const mesh::Snapshot& snapshot, const std::array<std::string, count>& names, F f) {
  for (int l = 0; l <= snapshot.finest_level(); ++l) {
    const mesh::Geometry level = snapshot.geometry.refined(l);
    std::array<mesh::FieldView<const double>, count> fields;
    for (std::size_t n = 0; n < count; ++n) fields[n] = snapshot.field(names[n], l);
    for (int b = 0; b < fields[0].blocks(); ++b) {
      std::array<core::View4<const double>, count> views;
      for (std::size_t n = 0; n < count; ++n) views[n] = fields[n].view(b);
      core::for_each_cell(fields[0].box(b), [&](int k, int j, int i) {
        std::array<double, count> values{};
        for (std::size_t n = 0; n < count; ++n) values[n] = views[n](k, j, i);
        f(l, level, mesh::Int3{i, j, k}, values);
      });
    }
  }
}

/// Sum over all ranks' leaves of |a value - what it should be| times volume, over the volume summed.
class MeanDifference {
 public:
  void add(double difference, double volume) {
    differences_.add(std::fabs(difference) * volume);
    volumes_.add(volume);
  }
  /// Collective.
  double value(const comm::Communicator& comm) const {
    const double difference = comm.sum(differences_), volume = comm.sum(volumes_);
    return difference / volume;
  }

 private:
  core::ExactSum differences_, volumes_;
};

/// Options of problems in gas of diatomic molecules whose internal energy is what the total leaves.
inline solvers::HydroConfig diatomic_gas() {
  solvers::HydroConfig config;
  config.gamma = 1.4;
  config.dual_energy_eta = 0.0;
  return config;
}

/// Nothing comes in on any side that is not periodic.
inline void fill_with_outflow(mesh::Field<double>& gas, const mesh::Geometry& level, double /*time*/) {
  solvers::fill_boundary(gas, level, {});
}

/// A domain in the plane: of unit thickness when it is one cell thick.
inline mesh::Geometry plane_geometry(mesh::Int3 cells, double length_x, double length_y, mesh::Periodicity periodic) {
  return {mesh::domain_of(cells), {length_x, length_y, 1.0}, periodic};
}

/// Says what is wrong with `mesh.cells`.
[[noreturn]] inline void reject_cells(const core::Node& root, const std::string& what, const std::string& hint) {
  const core::Node mesh = table_or_empty(root, "mesh");
  const core::Node* cells = mesh.find("cells");
  core::reject(cells != nullptr ? *cells : mesh, what, hint);
}

/// Holds a problem to two dimensions.
inline void require_plane(const core::Node& root, const std::string& problem, mesh::Int3 cells) {
  if (cells.x == 1 || cells.y == 1 || cells.z != 1)
    reject_cells(root, "the problem `" + problem + "` has two dimensions", "write for example `cells = [256, 256, 1]`");
}

}  // namespace sidestream::sims
