#pragma once

#include <vector>

#include "sidestream/mesh/field_view.hpp"

namespace sidestream::analysis {

/// A scalar field of one level of a snapshot, or one made from it.
using ScalarView = mesh::FieldView<const double>;

/// A scalar field on the leaves of all levels, coarsest first; on a uniform grid there is one level. The leaves
/// together tile the domain, and the layout of level l has a domain of 2^l times as many cells along each axis (flat
/// axes, of one cell, excepted).
using LeafField = std::vector<ScalarView>;

}  // namespace sidestream::analysis
