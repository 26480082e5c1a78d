#pragma once

#include <random>

#include "sidestream/mesh/forest.hpp"

namespace sidestream::test {

using Wishes = std::vector<std::vector<mesh::Adaptation>>;

/// The same wish for every block.
inline Wishes wishes_for(const mesh::Forest& forest, mesh::Adaptation wish) {
  Wishes wishes;
  for (int level = 0; level <= forest.finest_level(); ++level)
    wishes.emplace_back(static_cast<std::size_t>(forest.size(level)), wish);
  return wishes;
}

/// One round of random changes, the same on every rank.
inline mesh::Forest randomly_adapted(const mesh::Forest& forest, std::mt19937& random, int highest_level) {
  Wishes wishes = wishes_for(forest, mesh::Adaptation::keep);
  for (auto& level : wishes)
    for (mesh::Adaptation& wish : level) {
      const auto dice = random() % 9;
      if (dice == 0) wish = mesh::Adaptation::refine;
      if (dice > 4) wish = mesh::Adaptation::coarsen;
    }
  return forest.adapted(wishes, 0, highest_level);
}

/// A forest with all levels up to `highest_level`.
inline mesh::Forest random_forest(mesh::Int3 cells, std::int32_t block, mesh::Periodicity periodic, int highest_level,
                                  unsigned seed) {
  std::mt19937 random(seed);
  mesh::Forest forest(cells, block, periodic);
  for (int round = 0; round < 2 * highest_level || forest.finest_level() < highest_level; ++round)
    forest = randomly_adapted(forest, random, highest_level);
  return forest;
}

}  // namespace sidestream::test
