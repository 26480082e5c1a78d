#pragma once

#include <array>
#include <vector>

#include "analysis/lyman_alpha/absorbers.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// The lines of a domain along an axis, whole, in batches that are slabs of it: of each batch every rank has a part
/// while there are lines enough.
std::vector<mesh::Layout> line_batches(const mesh::Layout& grid, int ranks, int axis);

/// All boxes of all batches.
mesh::Layout joined(const std::vector<mesh::Layout>& batches);

/// What absorbs on whole lines. One batch takes the memory of the one before.
struct LineCells {
  mesh::Field<double> density, velocity, temperature;

  /// Brings the gas to the layout `lines`. Collective.
  void gather(const comm::Communicator& comm, const Absorbers& gas, int axis, const mesh::Layout& lines);

 private:
  std::array<core::Workroom, 3> rooms_;
};

/// The optical depth in each cell of `cells`, lines along `axis`, in the blocks of `depth` on the same boxes; whether
/// all are physical. Local.
template <typename T>
[[nodiscard]] bool find_depth(const LineCells& cells, const Absorbers& gas, int axis, Broadening broadening,
                              mesh::FieldView<T> depth);

/// The optical depth of all lines along an axis, on `joined(line_batches(...))`. Collective. Memory: that field, and a
/// batch of cells at a time (an eighth of three fields, and their messages). Throws core::Error naming a cell that is
/// not physical. `T` is double, or float where half the memory is worth an error of the flux of 2.2e-8.
template <typename T = double>
mesh::Field<T> optical_depth(const comm::Communicator& comm, const Absorbers& gas, int axis, Broadening broadening);

}  // namespace sidestream::analysis
