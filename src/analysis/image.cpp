#include "analysis/image.hpp"

namespace sidestream::analysis {

void add_axes(mesh::Result& result, const ImagePlane& plane, const mesh::Geometry& geometry) {
  const auto add = [&](const std::string& name, int axis, const std::string& what) {
    std::vector<double> centers;
    for (std::int32_t i = plane.domain.lo[axis]; i < plane.domain.hi[axis]; ++i)
      centers.push_back((i + 0.5) * geometry.cell_size(axis));
    const auto length = static_cast<std::int64_t>(centers.size());
    result.add(name, "Mpc", std::string(1, "xyz"[axis]) + " of the cell centres, the picture's " + what, {name},
               {length}, centers);
  };
  add("y", plane.vertical, "rows");
  add("x", plane.horizontal, "columns");
  result.attributes["axis"] = std::string(1, "xyz"[plane.axis]);
  result.attributes["horizontal"] = std::string(1, "xyz"[plane.horizontal]);
  result.attributes["vertical"] = std::string(1, "xyz"[plane.vertical]);
}

}  // namespace sidestream::analysis
