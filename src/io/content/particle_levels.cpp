#include "io/content/particle_levels.hpp"

#include <array>
#include <utility>

namespace sidestream::io {

namespace {

void append_one(const mesh::Particles& from, std::size_t p, mesh::Particles& to) {
  to.id.push_back(from.id[p]);
  for (std::size_t axis = 0; axis < 3; ++axis) to.position[axis].push_back(from.position[axis][p]);
  for (std::size_t a = 0; a < to.attributes.size(); ++a)
    to.attributes[a].values.push_back(from.attributes[a].values[p]);
}

}  // namespace

std::vector<mesh::Particles> by_level(mesh::Particles all, std::span<const mesh::Layout> levels,
                                      const mesh::Geometry& geometry) {
  if (levels.size() == 1) {
    std::vector<mesh::Particles> one;
    one.push_back(std::move(all));
    return one;
  }
  mesh::Particles none;
  none.mass = all.mass;
  for (const auto& attribute : all.attributes) none.attributes.push_back({attribute.name, attribute.unit, {}});
  std::vector<mesh::Particles> found(levels.size(), none);
  for (std::size_t p = 0; p < all.size(); ++p) {
    const std::array position{all.position[0][p], all.position[1][p], all.position[2][p]};
    std::size_t level = levels.size() - 1;
    while (level > 0 && levels[level].find(cell_of(geometry.refined(static_cast<int>(level)), position)) < 0) --level;
    append_one(all, p, found[level]);
  }
  return found;
}

}  // namespace sidestream::io
