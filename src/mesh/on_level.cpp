#include "sidestream/mesh/on_level.hpp"

namespace sidestream::mesh {

Box on_level(const Box& cells, const Box& root, const Box& domain) {
  Box box = cells;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int32_t factor = domain.extent()[axis] / root.extent()[axis];
    box.lo[axis] *= factor;
    box.hi[axis] *= factor;
  }
  return box;
}

}  // namespace sidestream::mesh
