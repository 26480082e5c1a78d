#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::solvers {

/// How the ghost cell beyond a side at which the blocks of a level end follows from the cells inside: its value is
/// `value` + `near` * (first cell inside) + `far` * (second one).
struct SideRule {
  double near = 0.0, far = 0.0;
};

/// A side of a local block with no block of the level behind it.
struct OpenSide {
  int block = 0, axis = 0;
  bool is_high = false;
  mesh::Box ghosts;       ///< the layer of cells outside
  std::size_t first = 0;  ///< where its values begin
};

/// lap phi = rhs with the 7-point Laplacian on the blocks of one level, which may cover a part of the domain: residual
/// and relaxation. Fields have one component; phi has one layer of ghost cells or more, of which those behind faces are
/// used. The bits do not depend on the ranks.
class LevelPoisson {
 public:
  /// Collective.
  LevelPoisson(const comm::Communicator& comm, const mesh::Layout& layout, const std::array<double, 3>& cell_size,
               SideRule rule);

  const mesh::Layout& layout() const { return layout_; }
  const std::array<double, 3>& cell_size() const { return cell_size_; }

  std::span<const OpenSide> open_sides() const { return sides_; }
  /// The values of the ghost cells of an open side, x fastest, and of all open sides in turn; zero at first.
  std::span<double> values(const OpenSide& side);
  std::span<double> values() { return values_; }

  /// One exchange between blocks, then the open sides. Collective.
  void fill_ghosts(mesh::Field<double>& phi) const;

  /// Sweeps of red-black Gauss-Seidel with over-relaxation. The ghost cells are filled before, and have to be filled
  /// anew after: an exchange between colours. Collective.
  void relax(mesh::Field<double>& phi, const mesh::Field<double>& rhs, int sweeps, double over_relaxation) const;

  /// out = rhs - lap phi, from filled ghost cells. Local.
  void residual(const mesh::Field<double>& phi, const mesh::Field<double>& rhs, mesh::Field<double>& out) const;
  /// Adds lap phi to block `b` of `rhs`, from filled ghost cells. Local.
  void add_laplacian(const mesh::Field<double>& phi, int b, mesh::Field<double>& rhs) const;

 private:
  void find_open_sides(int rank);
  void extrapolate_sides(mesh::Field<double>& phi) const;

  mesh::Layout layout_;
  std::array<double, 3> cell_size_, weight_;  // weight: 1 / cell size^2
  SideRule rule_;
  redistribute::GhostFill ghosts_;
  std::vector<OpenSide> sides_;
  std::vector<double> values_;
};

/// How wide the region of `layout` is, in cells: the longest straight run through it along each axis, and of the three
/// the shortest. O(boxes).
std::int32_t width_of(const mesh::Layout& layout);

}  // namespace sidestream::solvers
