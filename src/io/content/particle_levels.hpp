#pragma once

#include <span>
#include <vector>

#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// `all`, a set for each level: each particle on the finest one of which a box holds it, else on the coarsest.
/// `geometry`: of level 0. Local.
std::vector<mesh::Particles> by_level(mesh::Particles all, std::span<const mesh::Layout> levels,
                                      const mesh::Geometry& geometry);

}  // namespace sidestream::io
