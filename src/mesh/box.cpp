#include "sidestream/mesh/box.hpp"

#include <fmt/format.h>

namespace sidestream::mesh {

std::string to_string(const Box& box) {
  return fmt::format("[{} {} {}, {} {} {})", box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z);
}

}  // namespace sidestream::mesh
