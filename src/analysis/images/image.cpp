#include "analysis/images/image.hpp"

#include <fmt/format.h>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

void check_plane(const mesh::Box& root, const std::string& axis, std::int64_t level) {
  if (level <= 0) return;
  constexpr double most = 1e9;
  const ImagePlane level_0(axis, root, 0);
  const mesh::Int3 bits = bits_between(root, static_cast<int>(level));
  const double pixels =
      std::ldexp(static_cast<double>(level_0.pixels()), bits[level_0.horizontal] + bits[level_0.vertical]);
  if (pixels > most)
    throw core::Error(fmt::format("a picture of level {} has {:.3g} pixels", level, pixels), "level",
                      fmt::format("it would take {:.3g} GiB of memory: choose a lower `level`", pixels * 8 / 0x1p30));
}

ImagePlane plane_of(const mesh::Snapshot& snapshot, const std::string& axis, std::int64_t level) {
  constexpr std::int32_t most_a_side = 2048;
  const mesh::Box& root = snapshot.geometry.domain;
  check_plane(root, axis, level);
  if (level >= 0) return {axis, root, static_cast<int>(level)};
  for (int finest = snapshot.finest_level();; --finest) {
    const ImagePlane plane(axis, root, finest);
    if (finest == 0 || std::max(plane.columns(), plane.rows()) <= most_a_side) return plane;
  }
}

void add_axes(mesh::Result& result, const ImagePlane& plane, const mesh::Snapshot& snapshot) {
  const mesh::Geometry geometry = snapshot.geometry.refined(plane.level);
  const auto add = [&](const std::string& name, int axis, const std::string& what) {
    std::vector<double> centers;
    for (std::int32_t i = plane.domain.lo[axis]; i < plane.domain.hi[axis]; ++i)
      centers.push_back((i + 0.5) * geometry.cell_size(axis));
    const auto length = static_cast<std::int64_t>(centers.size());
    result.add(name, snapshot.length_unit, std::string(1, "xyz"[axis]) + " of the cell centres, the picture's " + what,
               {name}, {length}, centers);
  };
  add("y", plane.vertical, "rows");
  add("x", plane.horizontal, "columns");
  result.attributes["axis"] = std::string(1, "xyz"[plane.axis]);
  result.attributes["horizontal"] = std::string(1, "xyz"[plane.horizontal]);
  result.attributes["vertical"] = std::string(1, "xyz"[plane.vertical]);
  result.attributes["level"] = std::int64_t{plane.level};
}

}  // namespace sidestream::analysis
