#pragma once

#include <string>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::sims {

/// A domain cut into tiles, which files and tasks see and which do not depend on the ranks, and into one box for each
/// rank, of whole tiles: boxes of the two layouts have the same owners.
struct Tiles {
  mesh::Layout tiles, boxes;
};

/// Slices: tiles of `thickness` cells, or all there are, along the last axis that has more than one; rectangles: along
/// the last two. Ranks beyond the tiles have none.
Tiles make_tiles(const mesh::Box& domain, const mesh::Periodicity& periodic, std::int32_t thickness,
                 bool are_rectangles, int ranks);

}  // namespace sidestream::sims
