#pragma once

#include "sidestream/mesh/box.hpp"

namespace sidestream::mesh {

/// Cells of level 0, whose domain is `root`, as cells of the level whose domain is `domain`: axes of one cell stay so.
Box on_level(const Box& cells, const Box& root, const Box& domain);

}  // namespace sidestream::mesh
