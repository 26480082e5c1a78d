#pragma once

#include <vector>

#include "sidestream/mesh/forest.hpp"
#include "support/forests.hpp"

namespace sidestream::test {

/// `forest` with one more round of changes: the blocks that hold one of `cells` (at the resolution of `level`) are
/// refined, and whatever balance needs.
inline mesh::Forest refined_at(const mesh::Forest& forest, int level, const std::vector<mesh::Int3>& cells) {
  Wishes wishes = wishes_for(forest, mesh::Adaptation::keep);
  for (const auto cell : cells)
    for (std::int32_t b = 0; b < forest.size(level); ++b)
      if (forest.box(level, b).contains(cell))
        wishes[static_cast<std::size_t>(level)][static_cast<std::size_t>(b)] = mesh::Adaptation::refine;
  return forest.adapted(wishes, 0, level + 1);
}

/// 16^3 cells in blocks of four, refined to level 2 around the corner of the domain, across all of its periodic
/// boundaries, and to level 1 inside.
inline mesh::Forest corner_forest() {
  const mesh::Forest once = refined_at(mesh::Forest({16, 16, 16}, 4), 0, {{0, 0, 0}, {9, 5, 7}});
  return refined_at(once, 1, {{0, 0, 0}});
}

}  // namespace sidestream::test
