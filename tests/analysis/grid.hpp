#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::test {

/// A whole field on every rank, from which any layout is filled; z slowest, x fastest.
struct Grid {
  mesh::Int3 cells;
  std::vector<double> values;

  explicit Grid(mesh::Int3 n, double value = 0.0) : cells(n), values(static_cast<std::size_t>(n.product()), value) {}
  mesh::Box domain() const { return mesh::domain_of(cells); }
  std::int64_t index(int k, int j, int i) const { return (std::int64_t{k} * cells.y + j) * cells.x + i; }
  double& operator()(int k, int j, int i) { return values[static_cast<std::size_t>(index(k, j, i))]; }
  double operator()(int k, int j, int i) const { return values[static_cast<std::size_t>(index(k, j, i))]; }

  template <typename F>
  static Grid of(mesh::Int3 n, F f) {
    Grid grid(n);
    core::for_each_cell(grid.domain(), [&](int k, int j, int i) { grid(k, j, i) = f(k, j, i); });
    return grid;
  }
  mesh::Field<double> on(const mesh::Layout& layout, int rank) const {
    mesh::Field<double> field(layout, rank);
    for (int b = 0; b < field.blocks(); ++b) {
      const auto view = field.view(b);
      core::for_each_cell(field.box(b), [&](int k, int j, int i) { view(k, j, i) = (*this)(k, j, i); });
    }
    return field;
  }
  /// The field rolled by `shift`: what was at 0 is at `shift`.
  Grid rolled(mesh::Int3 shift) const {
    return of(cells, [&](int k, int j, int i) {
      return (*this)(mesh::wrapped(k - shift.z, cells.z), mesh::wrapped(j - shift.y, cells.y),
                     mesh::wrapped(i - shift.x, cells.x));
    });
  }
};

inline mesh::Geometry unit_cells(mesh::Int3 cells, mesh::Periodicity periodic = {true, true, true}) {
  return {mesh::domain_of(cells), {double(cells.x), double(cells.y), double(cells.z)}, periodic};
}

/// A smooth field with six waves and known halos; its three axes are, slowest first, the (i, j, k) of its formula. All
/// values differ.
inline Grid wave_field(int n) {
  const double unit = 2.0 * std::numbers::pi / n;
  return Grid::of({n, n, n}, [=](int i, int j, int k) {
    const double x = unit * i, y = unit * j, z = unit * k;
    const double g = 1.1 * std::cos(x + 2 * y + .3) + .9 * std::cos(2 * x - z + 1.7) + .8 * std::cos(3 * y + z + .9) +
                     .7 * std::cos(2 * x + 2 * y - 3 * z + 2.2) + .6 * std::cos(4 * x - y + 2 * z + .1) +
                     .5 * std::cos(5 * z - 3 * y + 4.0);
    return std::exp(1.3 * g);
  });
}

/// Numbers in [0, 1), or whole numbers below `levels` if that is not zero, so that many cells are equal.
inline Grid random_field(mesh::Int3 cells, std::uint64_t seed, int levels = 0) {
  Grid grid(cells);
  for (std::size_t i = 0; i < grid.values.size(); ++i) {
    const double u = core::uniform(seed, 1, i);
    grid.values[i] = levels == 0 ? u : std::floor(u * levels);
  }
  return grid;
}

/// A stream of whole numbers for random layouts, the same on all ranks.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : seed_(seed) {}
  int below(int n) { return std::min(n - 1, static_cast<int>(core::uniform(seed_, 7, count_++) * n)); }

 private:
  std::uint64_t seed_, count_ = 0;
};

/// The domain cut at random places into `boxes` boxes, which random ranks own; some ranks may own none.
inline mesh::Layout random_layout(mesh::Int3 cells, mesh::Periodicity periodic, int ranks, int boxes,
                                  std::uint64_t seed) {
  Dice dice(seed);
  std::vector<mesh::Box> parts{mesh::domain_of(cells)};
  for (int tries = 0; static_cast<int>(parts.size()) < boxes && tries < 10 * boxes; ++tries) {
    const auto pick = static_cast<std::size_t>(dice.below(static_cast<int>(parts.size())));
    const int axis = dice.below(3), length = parts[pick].extent()[axis];
    if (length < 2) continue;
    mesh::Box upper = parts[pick];
    upper.lo[axis] = parts[pick].hi[axis] = parts[pick].lo[axis] + 1 + dice.below(length - 1);
    parts.push_back(upper);
  }
  std::vector<std::int32_t> owners;
  for (std::size_t b = 0; b < parts.size(); ++b) owners.push_back(dice.below(ranks));
  return {mesh::domain_of(cells), periodic, parts, owners};
}

/// Everything on rank 0.
inline mesh::Layout one_box(mesh::Int3 cells, mesh::Periodicity periodic = {true, true, true}) {
  return mesh::split(mesh::domain_of(cells), {1, 1, 1}, periodic);
}

/// A snapshot of so many cells in a box of `side` [Mpc], on `layout`.
inline mesh::Snapshot snapshot_on(const mesh::Layout& layout, double side) {
  mesh::Snapshot snapshot;
  snapshot.geometry = {layout.domain(), {side, side, side}, layout.periodic()};
  snapshot.levels = {layout};
  return snapshot;
}

}  // namespace sidestream::test
