#pragma once

#include "sidestream/mesh/field.hpp"

namespace sidestream::solvers {

/// The exact inverse of the 7-point Laplacian on a whole domain, for one kind of boundary.
class RootPoisson {
 public:
  virtual ~RootPoisson() = default;
  /// phi on blocks as those of `rhs`, in the same order, with at least one layer of ghost cells, filled; those outside
  /// the domain as well. Collective.
  virtual const mesh::Field<double>& solve(const mesh::Field<double>& rhs) = 0;
};

}  // namespace sidestream::solvers
