#pragma once

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"

namespace sidestream::sims {

/// A field on the leaves of `level`, as snapshots have them: `value_of(b)` gives a function of (k, j, i) for local
/// block `b` of the level, leaves and refined ones counted.
template <typename ValueOf>
mesh::Field<double> leaf_field(const mesh::Hierarchy& hierarchy, int level, int rank, ValueOf value_of) {
  mesh::Field<double> field(hierarchy.leaf_layout(level), rank);
  const auto own = hierarchy.layout(level).boxes_of(rank);
  int leaf = 0;
  for (std::size_t b = 0; b < own.size(); ++b) {
    if (!hierarchy.is_leaf(level, own[b])) continue;
    const auto out = field.view(leaf);
    core::for_each_cell(field.box(leaf), [=, value = value_of(static_cast<int>(b))](int k, int j, int i) {
      out(k, j, i) = value(k, j, i);
    });
    ++leaf;
  }
  return field;
}

}  // namespace sidestream::sims
