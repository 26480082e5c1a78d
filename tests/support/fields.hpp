#pragma once

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::test {

/// What `field_of_global_index` puts into component `c` of `cell`.
template <typename T>
T global_value(const mesh::Box& domain, mesh::Int3 cell, int c) {
  const std::int64_t value = 8 * linear_index(domain, cell) + c;
  if constexpr (requires { typename T::value_type; })
    return T(static_cast<typename T::value_type>(value));
  else
    return static_cast<T>(value);
}

/// Every owned cell holds its global index (times 8 plus the component), so that any rank can check any layout alone.
template <typename T = double>
mesh::Field<T> field_of_global_index(const mesh::Layout& layout, int rank, int components = 1, mesh::Ghosts ghost = 0) {
  mesh::Field<T> field(layout, rank, components, ghost);
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < components; ++c) view(c, k, j, i) = global_value<T>(layout.domain(), {i, j, k}, c);
    });
  }
  return field;
}

/// Number of owned cells on this rank whose value is not that of `field_of_global_index`.
template <typename T>
int cells_that_differ(const mesh::Field<T>& field) {
  int count = 0;
  for (int b = 0; b < field.blocks(); ++b) {
    const auto view = field.view(b);
    core::for_each_cell(field.box(b), [&](int k, int j, int i) {
      for (int c = 0; c < field.components(); ++c)
        count += view(c, k, j, i) != global_value<T>(field.layout().domain(), {i, j, k}, c);
    });
  }
  return count;
}

}  // namespace sidestream::test
