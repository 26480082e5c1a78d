#pragma once

#include <algorithm>
#include <cstdint>

#include "sidestream/mesh/box.hpp"

namespace sidestream::mesh {

/// How many layers of ghost cells boxes have along each axis. A number means as many along all.
struct Ghosts {
  Int3 layers;

  Ghosts(std::int32_t everywhere) : layers{everywhere, everywhere, everywhere} {}  // NOLINT: as good as a number
  explicit Ghosts(Int3 of_axis) : layers(of_axis) {}

  std::int32_t most() const { return std::max({layers.x, layers.y, layers.z}); }
  std::int32_t least() const { return std::min({layers.x, layers.y, layers.z}); }
  bool has_at_least(const Ghosts& other) const {
    return layers.x >= other.layers.x && layers.y >= other.layers.y && layers.z >= other.layers.z;
  }
};

/// So many layers along the axes on which `domain` has more than one cell, for what never looks along flat axes.
inline Ghosts ghosts_of_active_axes(const Box& domain, std::int32_t layers) {
  const Int3 n = domain.extent();
  return Ghosts(Int3{n.x > 1 ? layers : 0, n.y > 1 ? layers : 0, n.z > 1 ? layers : 0});
}

}  // namespace sidestream::mesh
