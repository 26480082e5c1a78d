#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "analysis/grid.hpp"
#include "analysis/refined_mesh.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::test {

using Position = std::array<double, 3>;

/// Particles as every rank knows them.
struct Points {
  std::vector<Position> positions;
  std::vector<std::int64_t> ids;

  std::size_t size() const { return ids.size(); }
  void add(const Position& position) {
    positions.push_back(position);
    ids.push_back(7 * static_cast<std::int64_t>(ids.size()) + 3);
  }
};

/// Points of which half are spread at random and half lie in clumps of several sizes, some across the faces. Their ids
/// are in no order.
inline Points clumped(const mesh::Geometry& geometry, int count, std::uint64_t seed) {
  Points points;
  std::uint64_t draw = 0;
  const auto uniform = [&] { return core::uniform(seed, 1, draw++); };
  const auto normal = [&] { return core::normal(seed, 2, draw++); };
  Position center{};
  double width = 0.0;
  for (int p = 0; p < count; ++p) {
    if (p % 100 == 0) {
      for (std::size_t axis = 0; axis < 3; ++axis)
        center[axis] = uniform() < 0.3 ? 0.0 : uniform() * geometry.length[axis];
      width = 0.3 * std::pow(10.0, -2.0 * uniform());
    }
    Position position{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double length = geometry.length[axis];
      const double x = p % 2 == 0 ? uniform() * length : center[axis] + width * normal();
      position[axis] = geometry.periodic[axis] ? mesh::wrapped_coordinate(x, length)
                                               : std::clamp(x, 0.0, std::nextafter(length, 0.0));
    }
    points.add(position);
  }
  std::mt19937_64 generator(seed);
  std::shuffle(points.ids.begin(), points.ids.end(), generator);
  return points;
}

/// The friends-of-friends group of each point, by id, from all pairs.
inline std::map<std::int64_t, std::int64_t> groups_of_all_pairs(const Points& points, const mesh::Geometry& geometry,
                                                                double linking_length) {
  const std::size_t n = points.size();
  const auto are_friends = [&](std::size_t p, std::size_t q) {
    double sum = 0.0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double d = std::abs(points.positions[p][axis] - points.positions[q][axis]);
      if (geometry.periodic[axis]) d = std::min(d, geometry.length[axis] - d);
      sum += d * d;
    }
    return sum <= linking_length * linking_length;
  };
  std::vector<std::size_t> by_id(n), todo;
  for (std::size_t p = 0; p < n; ++p) by_id[p] = p;
  std::sort(by_id.begin(), by_id.end(), [&](std::size_t a, std::size_t b) { return points.ids[a] < points.ids[b]; });
  std::map<std::int64_t, std::int64_t> group;
  std::vector<bool> is_seen(n, false);
  for (const std::size_t first : by_id) {
    if (is_seen[first]) continue;
    is_seen[first] = true;
    todo = {first};
    while (!todo.empty()) {
      const std::size_t p = todo.back();
      todo.pop_back();
      group[points.ids[p]] = points.ids[first];
      for (std::size_t q = 0; q < n; ++q)
        if (!is_seen[q] && are_friends(p, q)) {
          is_seen[q] = true;
          todo.push_back(q);
        }
    }
  }
  return group;
}

/// The level and the cell of the leaf that holds a position.
struct Leaf {
  int level = -1;
  mesh::Int3 cell;
  std::int32_t owner = -1;
};
inline Leaf leaf_of(const RefinedMesh& mesh, const Position& position) {
  for (int level = mesh.finest_level(); level >= 0; --level) {
    const mesh::Layout& layout = mesh.levels[static_cast<std::size_t>(level)];
    const mesh::Int3 cell = cell_of(mesh.geometry.refined(level), position);
    const std::int32_t box = layout.find(cell);
    if (box >= 0) return {level, cell, layout.owner(box)};
  }
  return {};
}

/// The points that lie in blocks of `rank`, as places in `points`, in an order that depends on the seed.
inline std::vector<std::size_t> places_of(const RefinedMesh& mesh, const Points& points, int rank,
                                          std::uint64_t seed = 0) {
  std::vector<std::size_t> mine;
  for (std::size_t p = 0; p < points.size(); ++p)
    if (leaf_of(mesh, points.positions[p]).owner == rank) mine.push_back(p);
  std::mt19937_64 generator(seed);
  std::shuffle(mine.begin(), mine.end(), generator);
  return mine;
}

/// The points at these places as particles.
inline mesh::Particles particles_at(const Points& points, const std::vector<std::size_t>& places) {
  mesh::Particles particles;
  for (const std::size_t p : places) {
    particles.id.push_back(points.ids[p]);
    for (std::size_t axis = 0; axis < 3; ++axis) particles.position[axis].push_back(points.positions[p][axis]);
  }
  return particles;
}

inline RefinedMesh uniform_mesh(const mesh::Layout& layout) {
  return {unit_cells(layout.domain().extent(), layout.periodic()), {layout}};
}

}  // namespace sidestream::test
