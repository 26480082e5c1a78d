#pragma once

#include <functional>
#include <vector>

#include "analysis/grid.hpp"
#include "sidestream/analysis/leaf_field.hpp"

namespace sidestream::test {

/// A refined mesh of hand-made blocks: the leaves of each level.
struct RefinedMesh {
  mesh::Geometry geometry;  ///< of level 0
  std::vector<mesh::Layout> levels;

  int finest_level() const { return static_cast<int>(levels.size()) - 1; }
  mesh::Int3 finest_cells() const { return levels.back().domain().extent(); }

  /// The cells of level `to` that lie in the box of level `from`, which is coarser.
  mesh::Box refined(mesh::Box box, int from, int to) const {
    for (int axis = 0; axis < 3; ++axis)
      if (geometry.domain.hi[axis] > 1) {
        box.lo[axis] <<= to - from;
        box.hi[axis] <<= to - from;
      }
    return box;
  }
  mesh::Box finest_cells_of(mesh::Int3 cell, int level) const {
    return refined({cell, cell + mesh::Int3{1, 1, 1}}, level, finest_level());
  }
};

/// Whether the block `box` of `level` is divided.
using Divides = std::function<bool(const mesh::Box& box, int level)>;

/// Root blocks of `block` cells a side, of which those that `divides` says are divided into eight (four in two
/// dimensions) as many cells each, and so on up to level `finest`. Random ranks own the leaves.
inline RefinedMesh refined_mesh(mesh::Int3 cells, std::int32_t block, int finest, mesh::Periodicity periodic, int ranks,
                                const Divides& divides, std::uint64_t seed = 1) {
  RefinedMesh mesh{unit_cells(cells, periodic), {}};
  Dice owner(seed);
  std::vector<mesh::Box> boxes;
  const auto extent = [&](int axis) { return std::min(block, cells[axis]); };
  const mesh::Int3 step{extent(0), extent(1), extent(2)};
  for (mesh::Int3 lo; lo.z < cells.z; lo.z += step.z)
    for (lo.y = 0; lo.y < cells.y; lo.y += step.y)
      for (lo.x = 0; lo.x < cells.x; lo.x += step.x) boxes.push_back({lo, lo + step});
  for (int level = 0; level <= finest; ++level) {
    std::vector<mesh::Box> leaves, children;
    for (const mesh::Box& box : boxes) {
      if (level == finest || !divides(box, level)) {
        leaves.push_back(box);
        continue;
      }
      const mesh::Box fine = mesh.refined(box, 0, 1);
      for (mesh::Int3 lo = fine.lo; lo.z < fine.hi.z; lo.z += step.z)
        for (lo.y = fine.lo.y; lo.y < fine.hi.y; lo.y += step.y)
          for (lo.x = fine.lo.x; lo.x < fine.hi.x; lo.x += step.x) children.push_back({lo, lo + step});
    }
    std::vector<std::int32_t> owners;
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) owners.push_back(owner.below(ranks));
    mesh.levels.emplace_back(mesh.refined(mesh.geometry.domain, 0, level), periodic, leaves, owners, level);
    boxes = std::move(children);
  }
  return mesh;
}

/// The same with blocks divided at random, so that levels that differ by more than one may touch. The blocks depend on
/// the seed alone, the owners on the number of ranks too.
inline RefinedMesh random_mesh(mesh::Int3 cells, std::int32_t block, int finest, mesh::Periodicity periodic, int ranks,
                               std::uint64_t seed) {
  Dice dice(seed + 1000);
  return refined_mesh(
      cells, block, finest, periodic, ranks, [&](const mesh::Box&, int) { return dice.below(3) == 0; }, seed);
}

/// A field on the leaves whose values are `f(level, cell)`.
template <typename F>
std::vector<mesh::Field<double>> leaves_of(const RefinedMesh& mesh, int rank, F f) {
  std::vector<mesh::Field<double>> levels;
  for (int level = 0; level <= mesh.finest_level(); ++level) {
    auto& field = levels.emplace_back(mesh.levels[static_cast<std::size_t>(level)], rank);
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
        view(k, j, i) = f(level, mesh::Int3{i, j, k});
      });
  }
  return levels;
}

inline analysis::LeafField shared(std::vector<mesh::Field<double>> levels) {
  analysis::LeafField field;
  for (auto& level : levels) field.push_back(std::make_shared<const mesh::Field<double>>(std::move(level)));
  return field;
}

/// Calls `f(level, cell)` for every leaf cell of the mesh, whichever rank owns it.
template <typename F>
void for_each_leaf_cell(const RefinedMesh& mesh, F f) {
  for (int level = 0; level <= mesh.finest_level(); ++level)
    for (const mesh::Box& box : mesh.levels[static_cast<std::size_t>(level)].boxes())
      core::for_each_cell(box, [&](int k, int j, int i) { f(level, mesh::Int3{i, j, k}); });
}

/// The plain twin of a field on leaves: all cells of the finest level, each with the value of the leaf it lies in.
template <typename F>
Grid spread(const RefinedMesh& mesh, F f) {
  Grid grid(mesh.finest_cells());
  for_each_leaf_cell(mesh, [&](int level, mesh::Int3 cell) {
    core::for_each_cell(mesh.finest_cells_of(cell, level),
                        [&](int k, int j, int i) { grid(k, j, i) = f(level, cell); });
  });
  return grid;
}

/// The average of `grid` over blocks of 2^`levels` cells a side (1 on flat axes).
inline Grid averaged(const Grid& grid, int levels) {
  const auto bits = [&](int axis) { return grid.cells[axis] > 1 ? levels : 0; };
  Grid coarse({grid.cells.x >> bits(0), grid.cells.y >> bits(1), grid.cells.z >> bits(2)});
  const double share = 1.0 / static_cast<double>(std::int64_t{1} << (bits(0) + bits(1) + bits(2)));
  core::for_each_cell(grid.domain(), [&](int k, int j, int i) {
    coarse(k >> bits(2), j >> bits(1), i >> bits(0)) += share * grid(k, j, i);
  });
  return coarse;
}

/// A number in [0, 1) for each leaf cell.
inline double noise(std::uint64_t seed, int level, mesh::Int3 cell) {
  return core::uniform(seed, static_cast<std::uint64_t>(level),
                       static_cast<std::uint64_t>((std::int64_t{cell.z} * 4096 + cell.y) * 4096 + cell.x));
}

}  // namespace sidestream::test
