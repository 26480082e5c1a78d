#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/mesh/box.hpp"

namespace sidestream::analysis {

/// What a configuration may name as a level.
constexpr int finest_possible_level = 30;

/// By how many bits cell indices of two grids differ along each axis if one is `levels` levels finer: by none along a
/// flat axis. `domain` is that of either grid.
inline mesh::Int3 bits_between(const mesh::Box& domain, int levels) {
  const mesh::Int3 cells = domain.extent();
  return {cells.x > 1 ? levels : 0, cells.y > 1 ? levels : 0, cells.z > 1 ? levels : 0};
}

/// The logarithm to the base 2 of the number of cells that a cell is divided into by one level of refinement.
inline int bits_a_level(const mesh::Box& domain) {
  const mesh::Int3 bits = bits_between(domain, 1);
  return bits.x + bits.y + bits.z;
}

/// The coarse cell that holds a fine one, and the box of coarse cells that a box of fine ones touches.
inline mesh::Int3 coarsened(mesh::Int3 fine, mesh::Int3 bits) {
  return {fine.x >> bits.x, fine.y >> bits.y, fine.z >> bits.z};
}
inline mesh::Box coarsened(const mesh::Box& fine, mesh::Int3 bits) {
  const mesh::Int3 one{1, 1, 1};
  return {coarsened(fine.lo, bits), coarsened(fine.hi - one, bits) + one};
}

/// The lowest of the fine cells of a coarse one, and the box of the fine cells of a box of coarse ones.
inline mesh::Int3 refined(mesh::Int3 coarse, mesh::Int3 bits) {
  return {coarse.x << bits.x, coarse.y << bits.y, coarse.z << bits.z};
}
inline mesh::Box refined(const mesh::Box& coarse, mesh::Int3 bits) {
  return {refined(coarse.lo, bits), refined(coarse.hi, bits)};
}

/// The cell at a linear index of a domain.
inline mesh::Int3 cell_at(const mesh::Box& domain, std::int64_t index) {
  const mesh::Int3 n = domain.extent();
  const std::int64_t row = index / n.x;
  return domain.lo + mesh::Int3{static_cast<std::int32_t>(index % n.x), static_cast<std::int32_t>(row % n.y),
                                static_cast<std::int32_t>(row / n.y)};
}

inline int finest_level(const LeafField& field) {
  return static_cast<int>(field.size()) - 1;
}
inline const mesh::Box& root_domain(const LeafField& field) {
  return field.front().layout().domain();
}

/// The sum over levels of `numbers[level]` (whole numbers below 2^53) times the volume of a cell of that level in cells
/// of level 0, correctly rounded.
inline double volume_weighted(std::span<const std::int64_t> numbers, int bits_a_level) {
  core::CompactSum sum;
  for (int level = 0; level < static_cast<int>(numbers.size()); ++level)
    sum.add(std::ldexp(static_cast<double>(numbers[static_cast<std::size_t>(level)]), -bits_a_level * level));
  return sum.value();
}

}  // namespace sidestream::analysis
