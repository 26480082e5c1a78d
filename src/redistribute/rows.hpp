#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sidestream/mesh/any_field.hpp"

namespace sidestream::redistribute {

/// The blocks of a view as bytes; `Byte` is std::byte or const std::byte.
template <typename Byte>
struct Blocks {
  struct Block {
    Byte* origin = nullptr;  ///< where the cell (0, 0, 0) would be
    std::ptrdiff_t step_x = 0, step_y = 0, step_z = 0, step_component = 0;

    bool operator==(const Block&) const = default;
  };
  std::vector<Block> blocks;
  std::size_t element_bytes = 0;

  const Block& of(std::int32_t block) const { return blocks[static_cast<std::size_t>(block)]; }
};

/// A box of cells of an array (component, z, y, x) as rows along x: where its first cell lies and the steps in bytes.
template <typename Byte>
struct Rows {
  Byte* first = nullptr;
  std::ptrdiff_t step_x = 0, step_y = 0, step_z = 0, step_component = 0;
  std::size_t element_bytes = 0;

  /// Whether the cells of a row lie one after the other.
  bool are_whole() const { return step_x == static_cast<std::ptrdiff_t>(element_bytes); }
};

/// How many rows: `nz` * `ny` of `row_bytes` (as the source has its elements) for each component.
struct RowShape {
  std::int64_t ny = 0, nz = 0, components = 0;
  std::size_t row_bytes = 0, element_bytes = 0;

  std::int64_t rows() const { return ny * nz * components; }
};

inline RowShape shape_of(const mesh::Box& region, int components, std::size_t element_bytes) {
  const mesh::Int3 n = region.hi - region.lo;
  return {n.y, n.z, components, static_cast<std::size_t>(n.x) * element_bytes, element_bytes};
}

/// The rows of `region` in block `number`.
template <typename Byte>
Rows<Byte> rows_of(const Blocks<Byte>& blocks, std::int32_t number, const mesh::Box& region) {
  const auto& block = blocks.of(number);
  return {block.origin + region.lo.x * block.step_x + region.lo.y * block.step_y + region.lo.z * block.step_z,
          block.step_x,
          block.step_y,
          block.step_z,
          block.step_component,
          blocks.element_bytes};
}

/// The rows of an array that holds nothing else, such as a message.
template <typename Byte>
Rows<Byte> packed_rows(Byte* first, const RowShape& shape) {
  const auto step_y = static_cast<std::ptrdiff_t>(shape.row_bytes), step_z = step_y * shape.ny;
  const auto step_x = static_cast<std::ptrdiff_t>(shape.element_bytes);
  return {first, step_x, step_y, step_z, step_z * shape.nz, shape.element_bytes};
}

/// Brings `rows` rows of `row_bytes` of the source from one place to another: a copy, a sum or a conversion.
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

/// Converts elements of type From to type To.
template <typename From, typename To>
void convert_rows(std::byte* to, std::ptrdiff_t to_step, const std::byte* from, std::ptrdiff_t from_step,
                  std::int64_t rows, std::size_t row_bytes) {
  const std::size_t count = row_bytes / sizeof(From);
  for (std::int64_t r = 0; r < rows; ++r) {
    To* converted = reinterpret_cast<To*>(to + r * to_step);
    const From* value = reinterpret_cast<const From*>(from + r * from_step);
    for (std::size_t i = 0; i < count; ++i) converted[i] = static_cast<To>(value[i]);
  }
}

/// What adds elements of a type, and what converts those of one type into another; null where elements are not
/// converted (equal types, or numbers that would lose more than their last digits).
RowKernel sum_kernel(mesh::ElementType type);
RowKernel conversion_kernel(mesh::ElementType from, mesh::ElementType to);

/// Applies `kernel` (null: copies) to the rows [begin, end) of a region, counted in the order component, z, y; cell by
/// cell where those of a row have gaps between them.
void move_rows(RowKernel kernel, const Rows<std::byte>& to, const Rows<const std::byte>& from, const RowShape& shape,
               std::int64_t begin, std::int64_t end);

}  // namespace sidestream::redistribute
