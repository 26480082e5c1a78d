#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sidestream/mesh/field.hpp"

namespace sidestream::redistribute {

/// The blocks of a field as bytes; `Byte` is std::byte or const std::byte.
template <typename Byte>
struct Blocks {
  std::vector<Byte*> first;  ///< of each block: its first cell, ghost cells included
  mesh::Int3 ghost;
};

/// A box of cells of an array (component, z, y, x) as rows along x: where its first cell lies and the steps in bytes.
template <typename Byte>
struct Rows {
  Byte* first = nullptr;
  std::ptrdiff_t step_y = 0, step_z = 0, step_component = 0;
};

/// How many rows: `nz` * `ny` of `row_bytes` for each component.
struct RowShape {
  std::int64_t ny = 0, nz = 0, components = 0;
  std::size_t row_bytes = 0;

  std::int64_t rows() const { return ny * nz * components; }
};

inline RowShape shape_of(const mesh::Box& region, int components, std::size_t element_bytes) {
  const mesh::Int3 n = region.hi - region.lo;
  return {n.y, n.z, components, static_cast<std::size_t>(n.x) * element_bytes};
}

/// The rows of `region` in the block `first` that holds the cells of `block` (ghost cells included).
template <typename Byte>
Rows<Byte> rows_of(Byte* first, const mesh::Box& block, const mesh::Box& region, std::size_t element_bytes) {
  const mesh::Int3 n = block.hi - block.lo, at = region.lo - block.lo;
  const auto element = static_cast<std::ptrdiff_t>(element_bytes);
  const std::ptrdiff_t step_y = n.x * element, step_z = n.y * step_y;
  return {first + at.x * element + at.y * step_y + at.z * step_z, step_y, step_z, n.z * step_z};
}

/// The rows of an array that holds nothing else, such as a message.
template <typename Byte>
Rows<Byte> packed_rows(Byte* first, const RowShape& shape) {
  const auto step_y = static_cast<std::ptrdiff_t>(shape.row_bytes), step_z = step_y * shape.ny;
  return {first, step_y, step_z, step_z * shape.nz};
}

/// Brings `rows` rows of `row_bytes` from one place to another: a copy or a sum.
using RowKernel = void (*)(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step,
                           std::int64_t rows, std::size_t row_bytes);

/// The fastest copy of rows of so many bytes.
RowKernel copy_kernel(std::size_t row_bytes);

/// Adds elements of type T.
template <typename T>
void add_rows(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step, std::int64_t rows,
              std::size_t row_bytes) {
  const std::size_t count = row_bytes / sizeof(T);
  for (std::int64_t r = 0; r < rows; ++r) {
    T* sum = reinterpret_cast<T*>(to + r * to_step);
    const T* term = reinterpret_cast<const T*>(from + r * from_step);
    for (std::size_t i = 0; i < count; ++i) sum[i] = static_cast<T>(sum[i] + term[i]);
  }
}

/// Applies `kernel` to the rows [begin, end) of a region, counted in the order component, z, y.
void move_rows(RowKernel kernel, const Rows<std::byte>& to, const Rows<const std::byte>& from, const RowShape& shape,
               std::int64_t begin, std::int64_t end);

}  // namespace sidestream::redistribute
