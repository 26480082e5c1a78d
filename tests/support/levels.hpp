#pragma once

#include <functional>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::test {

/// Whether the block at a position (counted in blocks of its level) of a level is cut into eight.
using IsRefined = std::function<bool(int level, mesh::Int3 position)>;

enum class Blocks { all, leaves };

/// A layout a level, coarsest first, of the blocks of `block`^3 cells of a cubic periodic domain of `cells`^3, dealt to
/// `ranks` in turn. Neighbours may differ by any number of levels.
inline std::vector<mesh::Layout> refined_levels(std::int32_t cells, std::int32_t block, int ranks, Blocks which,
                                                const IsRefined& is_refined) {
  std::vector<mesh::Int3> blocks;
  const std::int32_t n = cells / block;
  for (std::int32_t i = 0; i < n * n * n; ++i) blocks.push_back({i % n, i / n % n, i / (n * n)});
  std::vector<mesh::Layout> levels;
  for (int level = 0; !blocks.empty(); ++level) {
    std::vector<mesh::Int3> children;
    std::vector<mesh::Box> boxes;
    std::vector<std::int32_t> owners;
    for (const mesh::Int3 p : blocks) {
      const bool is_leaf = !is_refined(level, p);
      for (std::int32_t c = 0; !is_leaf && c < 8; ++c)
        children.push_back({2 * p.x + c % 2, 2 * p.y + c / 2 % 2, 2 * p.z + c / 4});
      if (which == Blocks::leaves && !is_leaf) continue;
      const mesh::Int3 lo{block * p.x, block * p.y, block * p.z};
      owners.push_back(static_cast<std::int32_t>(boxes.size()) % ranks);
      boxes.push_back({lo, lo + mesh::Int3{block, block, block}});
    }
    const std::int32_t fine = cells << level;
    levels.emplace_back(mesh::domain_of({fine, fine, fine}), mesh::Periodicity{true, true, true}, std::move(boxes),
                        std::move(owners), level);
    blocks = std::move(children);
  }
  return levels;
}

}  // namespace sidestream::test
