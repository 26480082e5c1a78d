#pragma once

#include <memory>
#include <vector>

#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// A scalar field of one level of a snapshot, or one made from it.
using SharedField = std::shared_ptr<const mesh::Field<double>>;

/// A scalar field on the leaves of all levels, coarsest first; on a uniform grid there is one level. The leaves
/// together tile the domain, and the layout of level l has a domain of 2^l times as many cells along each axis (flat
/// axes, of one cell, excepted).
using LeafField = std::vector<SharedField>;

/// A field that covers its domain, as the one level of a leaf field. It must outlive what is returned.
inline LeafField uniform(const mesh::Field<double>& field) {
  return {SharedField(SharedField(), &field)};
}

}  // namespace sidestream::analysis
