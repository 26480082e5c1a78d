#pragma once

#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <string>
#include <vector>

#include "analysis/grid.hpp"

namespace sidestream::test {

/// Three components of a velocity on every rank.
using FlowGrids = std::array<Grid, 3>;

inline mesh::Snapshot flow_snapshot(const FlowGrids& velocity, const mesh::Layout& layout,
                                    const std::array<double, 3>& length, int rank) {
  mesh::Snapshot snapshot = snapshot_on(layout, 1.0);
  snapshot.geometry.length = length;
  for (std::size_t c = 0; c < 3; ++c)
    snapshot.add({std::string("velocity_") + "xyz"[c], "1"}, velocity[c].on(layout, rank));
  return snapshot;
}

/// Independent normal numbers in all cells: all waves of the grid are there, the highest ones too.
inline FlowGrids random_flow(mesh::Int3 cells, std::uint64_t seed) {
  FlowGrids flow{Grid(cells), Grid(cells), Grid(cells)};
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t i = 0; i < flow[c].values.size(); ++i)
      flow[c].values[i] = core::normal(seed, c, i) + 0.25 * static_cast<double>(c);
  return flow;
}

/// A flow given as a function of (x, y, z), which are multiples of 2 pi / cells.
template <typename F>
FlowGrids flow_of(mesh::Int3 cells, F velocity) {
  FlowGrids flow{Grid(cells), Grid(cells), Grid(cells)};
  const double turn = 2.0 * std::numbers::pi;
  core::for_each_cell(flow[0].domain(), [&](int k, int j, int i) {
    const std::array<double, 3> u = velocity(turn * i / cells.x, turn * j / cells.y, turn * k / cells.z);
    for (std::size_t c = 0; c < 3; ++c) flow[c](k, j, i) = u[c];
  });
  return flow;
}

/// u = sin x cos y cos z, v = -cos x sin y cos z, w = 0
inline FlowGrids taylor_green(mesh::Int3 cells) {
  return flow_of(cells, [](double x, double y, double z) {
    return std::array{std::sin(x) * std::cos(y) * std::cos(z), -std::cos(x) * std::sin(y) * std::cos(z), 0.0};
  });
}

/// The flow of Arnold, Beltrami and Childress of three amplitudes: its curl is the flow itself.
inline FlowGrids abc_flow(mesh::Int3 cells, double a, double b, double c) {
  return flow_of(cells, [=](double x, double y, double z) {
    return std::array{a * std::sin(z) + c * std::cos(y), b * std::sin(x) + a * std::cos(z),
                      c * std::sin(y) + b * std::cos(x)};
  });
}

inline double mean_of(const Grid& grid) {
  double sum = 0.0;
  for (const double value : grid.values) sum += value;
  return sum / static_cast<double>(grid.values.size());
}

/// A transform by the definition, wave by wave: the amplitude of each wave over the number of cells.
struct DirectWave {
  mesh::Int3 wave;  ///< -(n-1)/2 .. n/2 along each axis
  std::complex<double> amplitude;
};
inline std::vector<DirectWave> direct_transform(const Grid& grid) {
  const mesh::Int3 n = grid.cells;
  const auto folded = [](int m, int size) { return 2 * m > size ? m - size : m; };
  std::vector<DirectWave> waves;
  core::for_each_cell(grid.domain(), [&](int w, int v, int u) {
    std::complex<double> sum = 0;
    core::for_each_cell(grid.domain(), [&](int k, int j, int i) {
      const double turns = static_cast<double>(u * i % n.x) / n.x + static_cast<double>(v * j % n.y) / n.y +
                           static_cast<double>(w * k % n.z) / n.z;
      sum += grid(k, j, i) * std::polar(1.0, -2.0 * std::numbers::pi * turns);
    });
    waves.push_back({{folded(u, n.x), folded(v, n.y), folded(w, n.z)}, sum / static_cast<double>(n.product())});
  });
  return waves;
}

/// The derivative along an axis of the sum of all waves, in the centre of each cell; that of a wave that turns from
/// cell to cell is zero there.
inline Grid direct_derivative(const Grid& grid, int axis, double length) {
  const mesh::Int3 n = grid.cells;
  const std::int32_t cells = n[axis];
  // d/dx of the interpolating waves at offset m: sum over k of i k exp(i k x_m) / n, a matrix of the offset alone.
  std::vector<double> weight(static_cast<std::size_t>(cells), 0.0);
  for (std::int32_t m = 0; m < cells; ++m)
    for (std::int32_t k = 1; 2 * k < cells; ++k)
      weight[static_cast<std::size_t>(m)] -= 2.0 * k * std::sin(2.0 * std::numbers::pi * (k * m % cells) / cells) /
                                             cells * (2.0 * std::numbers::pi / length);
  return Grid::of(n, [&](int k, int j, int i) {
    double sum = 0.0;
    const mesh::Int3 here{i, j, k};
    for (std::int32_t m = 0; m < cells; ++m) {
      mesh::Int3 there = here;
      there[axis] = mesh::wrapped(here[axis] - m, cells);
      sum += weight[static_cast<std::size_t>(m)] * grid(there.z, there.y, there.x);
    }
    return sum;
  });
}

/// The mean of a power over all cells.
inline double mean_power(const Grid& grid, int power) {
  double sum = 0.0;
  for (const double value : grid.values) {
    double product = 1.0;
    for (int p = 0; p < power; ++p) product *= value;
    sum += product;
  }
  return sum / static_cast<double>(grid.values.size());
}

}  // namespace sidestream::test
