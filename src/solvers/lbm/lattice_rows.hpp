#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sidestream/solvers/lbm/lattice_kind.hpp"
#include "solvers/lbm/collision.hpp"

namespace sidestream::solvers {

/// Populations of a box in memory: the one of direction q in the cell (i, j, k) lies at `first[q * stride + k *
/// stride_z + j * stride_y + i]`, and rows begin on cache lines.
template <typename T>
struct PopulationRows {
  T* first = nullptr;  ///< of the lowest cell of the box
  std::ptrdiff_t stride_y = 0, stride_z = 0, stride = 0;
};

/// Where density and the velocity along x, y and z of cells go, in rows with the strides of the populations: those of
/// the lowest cell of a box; null: not wanted.
struct MeasuredRows {
  std::array<double*, 4> first{};

  bool is_empty() const { return first == std::array<double*, 4>{}; }
  /// From another cell on.
  MeasuredRows from(std::ptrdiff_t place) const {
    MeasuredRows rows = *this;
    for (double*& component : rows.first)
      if (component != nullptr) component += place;
    return rows;
  }
};

/// How cells collide.
template <typename Real>
struct CollisionStep {
  LatticeKind lattice = LatticeKind::d2q9;
  CollisionKind kind = CollisionKind::bgk;
  CollisionNumbers<Real> numbers;
  bool streams = false;  ///< past the caches
  /// Along x, y, z: the box is whole, and its faces are neighbours, whose cells are taken instead of ghost cells.
  std::array<bool, 3> wraps{};
};

/// Cells whose populations do not come from the cells around them, or not as they are: that of direction q in cell n is
/// the one at `sources[n * directions + q]`, from the lowest cell of the box on, plus `added[n * directions + q]`. On a
/// face those that come in from outside follow from a velocity there, or tend to a density.
template <typename Real>
struct EdgeCells {
  std::size_t count = 0;
  const std::int64_t* at = nullptr;  ///< where each is, in one direction
  const std::int64_t* sources = nullptr;
  const Real* added = nullptr;
  int axis = -1;                   ///< of the face; -1: all populations are there
  int inward = 0;                  ///< 1 or -1
  const Real* velocity = nullptr;  ///< three numbers a cell; null: a density is known
  Real excess = 0;                 ///< of it over 1
  Real stiffness = 0;              ///< share of what is missing that comes in each step
};

/// Loops over cells, for every instruction set. What becomes of a cell depends neither on its neighbours in a vector
/// nor on their number.
inline namespace kernels {

/// The cells of a box of `extent` along x, y, z: takes the populations that come to each, collides them and stores
/// them; and what `measured` wants of them, while they are at hand. Rows that wrap get what is behind their ends.
template <typename Real>
[[gnu::visibility("default")]] void advance_box(const CollisionStep<Real>& step, const PopulationRows<Real>& from,
                                                const PopulationRows<Real>& to, const MeasuredRows& measured,
                                                const std::array<int, 3>& extent);

template <typename Real>
[[gnu::visibility("default")]] void advance_cells(const CollisionStep<Real>& step, const EdgeCells<Real>& edge,
                                                  const PopulationRows<const Real>& from,
                                                  const PopulationRows<Real>& to);

/// What `to` wants of a row of cells, from what a collision left, with the bits of `advance_box`. What lies behind the
/// row is read with it.
template <typename Real>
[[gnu::visibility("default")]] void measure_row(const CollisionStep<Real>& step, const PopulationRows<const Real>& row,
                                                int cells, const MeasuredRows& to);

}  // namespace kernels

}  // namespace sidestream::solvers
