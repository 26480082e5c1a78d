#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/mesh/forest.hpp"

namespace sidestream::mesh {

/// A forest dealt to ranks: for each level a layout of its blocks, leaves and refined ones alike, and its geometry.
/// Fields of a refined mesh are one `Field` a level on these layouts. Refined blocks hold the averages of their
/// children. Each level is dealt to all ranks by itself, so that all ranks have work in each step of a level.
/// Immutable; copies share the layouts' tables.
class Hierarchy {
 public:
  /// `root` is the geometry of the coarsest level. `weights`, if not empty, holds for each level the cost of each
  /// block.
  Hierarchy(Forest forest, Geometry root, int ranks, const std::vector<std::vector<double>>& weights = {});

  const Forest& forest() const { return forest_; }
  int finest_level() const { return forest_.finest_level(); }
  const Layout& layout(int level) const { return layouts_[static_cast<std::size_t>(level)]; }
  const Geometry& geometry(int level) const { return geometries_[static_cast<std::size_t>(level)]; }
  bool is_leaf(int level, std::int32_t index) const { return forest_.is_leaf(level, index); }
  bool is_near_leaf(int level, std::int32_t index) const { return forest_.is_near_leaf(level, index); }

  /// The coarsest level that has leaves; it and the levels below it cover the domain.
  int coarsest_leaf_level() const;

  /// The leaves of `level` alone, with their owners: the layout of that level in a snapshot.
  Layout leaf_layout(int level) const;

 private:
  Forest forest_;
  std::vector<Layout> layouts_;
  std::vector<Geometry> geometries_;
};

/// The boxes of `layout` coarsened by two (flat axes excepted), with the same owners, on the next coarser domain.
Layout coarsened(const Layout& layout);

/// The blocks of each level, coarsest first, and the leaves among them: of a hierarchy, or of any boxes on one level.
struct LevelLayouts {
  std::vector<Layout> blocks, leaves;

  LevelLayouts() = default;
  LevelLayouts(const Hierarchy& hierarchy);  // NOLINT: as good as one
  explicit LevelLayouts(const Layout& uniform) : blocks{uniform}, leaves{uniform} {}
};

}  // namespace sidestream::mesh
