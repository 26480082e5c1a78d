#pragma once

#include <array>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::bindings {

/// A side of the box along x, with cubic cells, or three along x, y, z.
using Sides = std::variant<double, std::array<double, 3>>;

/// A whole field, of which each rank of a communicator has given some blocks as arrays (z, y, x). Cells in double
/// precision stay where they are, and the arrays live as long as what looks at them.
class Blocks {
 public:
  using Triple = std::array<std::int64_t, 3>;  ///< z, y, x
  using Flags = std::array<bool, 3>;           ///< z, y, x

  /// `origins` are the places of the arrays in the whole, which has `shape` and goes on at its opposite face along each
  /// `periodic` axis; `comm` is the Fortran handle of a communicator, without which this process has all. Collective.
  /// Throws core::Error on all ranks unless the blocks of all ranks tile the whole.
  template <typename T>
  Blocks(const std::vector<FieldArray<T>>& arrays, const std::vector<Triple>& origins, const Triple& shape,
         const Flags& periodic, std::optional<int> comm);

  const comm::Communicator& comm() const { return *comm_; }
  const mesh::FieldView<const double>& field() const { return field_; }
  /// A copy, for what outlives the call: arrays may change afterwards.
  mesh::FieldView<const double> copy_of_field() const;
  mesh::Geometry geometry(const Sides& sides) const { return geometry_of(field_.layout(), sides); }

  static mesh::Geometry geometry_of(const mesh::Layout& layout, const Sides& sides);

 private:
  mesh::Layout layout_of(std::vector<mesh::Box> mine, const Triple& shape, const Flags& periodic) const;

  std::shared_ptr<const comm::Communicator> comm_;
  mesh::FieldView<const double> field_;
};

/// The communicator with a Fortran handle, duplicated; that of this process alone without one.
comm::Communicator communicator(std::optional<int> handle);

/// `{"columns": {name: (values, unit, description)}, "attributes": {name: value}}`.
nb::dict dict_of(const mesh::Result& result);

void bind_blocks(nb::module_& module);
void bind_merge_tree(nb::module_& module);

}  // namespace sidestream::bindings
