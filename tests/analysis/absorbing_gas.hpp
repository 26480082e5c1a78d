#pragma once

#include <cmath>

#include "analysis/lyman_alpha/absorbers.hpp"
#include "analysis/run.hpp"
#include "support/csv.hpp"

namespace sidestream::test {

using mesh::Int3;

inline mesh::Layout some_layout(Int3 cells, int ranks) {
  return random_layout(cells, {true, true, true}, ranks, 9, 4);
}

/// Cells of gas as functions of the global index.
struct Gas {
  Grid density, temperature;
  std::array<Grid, 3> velocity;

  explicit Gas(Int3 cells)
      : density(lognormal(cells, 1, 3e-11, 1.5)),
        temperature(lognormal(cells, 2, 1e4, 1.0)),
        velocity{normal(cells, 3), normal(cells, 4), normal(cells, 5)} {}

  static Grid lognormal(Int3 cells, std::uint64_t stream, double median, double sigma) {
    Grid grid(cells);
    for (std::size_t i = 0; i < grid.values.size(); ++i)
      grid.values[i] = median * std::exp(sigma * core::normal(11, stream, i));
    return grid;
  }
  static Grid normal(Int3 cells, std::uint64_t stream) {
    Grid grid(cells);
    for (std::size_t i = 0; i < grid.values.size(); ++i) grid.values[i] = 150 * core::normal(11, stream, i);
    return grid;
  }
};

inline mesh::Snapshot snapshot_of(const Gas& gas, const mesh::Layout& layout, int rank, double side = 10.0) {
  mesh::Snapshot snapshot = snapshot_on(layout, side);
  snapshot.moment.attributes = {{"redshift", 3.0}, {"omega_m", 0.275}, {"hubble", 0.702}};
  snapshot.add({"neutral_hydrogen", "1/cm^3"}, gas.density.on(layout, rank));
  snapshot.add({"temperature", "K"}, gas.temperature.on(layout, rank));
  for (std::size_t axis = 0; axis < 3; ++axis)
    snapshot.add({std::string("velocity_") + "xyz"[axis], "km/s"}, gas.velocity[axis].on(layout, rank));
  return snapshot;
}

/// One line after the other, by the kernel of a line.
inline Grid depths_line_by_line(const Gas& gas, const analysis::LineScales& scales, int axis) {
  const Int3 cells = gas.density.cells;
  Grid depths(cells);
  Int3 lines = cells;
  lines[axis] = 1;
  core::for_each_cell(mesh::domain_of(lines), [&](int k, int j, int i) {
    std::vector<double> n, v, t, depth(static_cast<std::size_t>(cells[axis]));
    analysis::SharedRoom work;
    Int3 cell{i, j, k};
    for (cell[axis] = 0; cell[axis] < cells[axis]; ++cell[axis]) {
      n.push_back(gas.density(cell.z, cell.y, cell.x));
      v.push_back(gas.velocity[static_cast<std::size_t>(axis)](cell.z, cell.y, cell.x));
      t.push_back(gas.temperature(cell.z, cell.y, cell.x));
    }
    analysis::thermal_optical_depth({n, v, t}, scales, work, depth);
    for (cell[axis] = 0; cell[axis] < cells[axis]; ++cell[axis])
      depths(cell.z, cell.y, cell.x) = depth[static_cast<std::size_t>(cell[axis])];
  });
  return depths;
}

/// Every line along x is that of the table.
inline mesh::Snapshot snapshot_of_reference(const comm::Communicator& world) {
  const auto rows = read_csv("lya_skewer64.csv");
  const Int3 cells{64, 3, 2};
  Gas gas(cells);
  core::for_each_cell(gas.density.domain(), [&](int k, int j, int i) {
    const auto& row = rows[static_cast<std::size_t>(i)];
    gas.density(k, j, i) = row[1];
    gas.velocity[0](k, j, i) = row[2];
    gas.temperature(k, j, i) = row[3];
  });
  return snapshot_of(gas, some_layout(cells, world.size()), world.rank());
}

}  // namespace sidestream::test
