#include "sidestream/mesh/box.hpp"

#include <fmt/format.h>

namespace sidestream::mesh {

std::string to_string(const Box& box) {
  return fmt::format("[{} {} {}, {} {} {})", box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z);
}

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
