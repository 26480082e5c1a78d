#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analysis/friends_of_friends/friends.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::analysis {

/// Whose block holds a point, on leaves of several levels.
class LeafOwners {
 public:
  /// `levels` are the leaves of each level, coarsest first; `root` the geometry of level 0.
  LeafOwners(int rank, std::span<const mesh::Layout> levels, const mesh::Geometry& root);

  int levels() const { return static_cast<int>(levels_.size()); }
  const mesh::Layout& layout(int level) const { return at(level).layout; }
  const mesh::Geometry& geometry(int level) const { return at(level).geometry; }

  /// The block of this rank that holds a point of the domain; level -1 if none does.
  struct Place {
    int level = -1;
    std::int32_t block = -1;
  };
  Place here(const Point& point) const {
    for (int level = levels() - 1; level >= 0; --level) {
      if (!at(level).has_blocks) continue;
      const std::int32_t block = at(level).own.block_of(cell_of(at(level).geometry, point));
      if (block >= 0) return {level, block};
    }
    return {};
  }
  /// The rank whose block holds a point of the domain, or -1.
  int owner(const Point& point) const;

 private:
  struct Level {
    mesh::Layout layout;
    mesh::Geometry geometry;
    redistribute::OwnedCells own;
    bool has_blocks;
  };
  const Level& at(int level) const { return levels_[static_cast<std::size_t>(level)]; }

  std::vector<Level> levels_;
};

/// The position of a particle, wrapped into the domain on periodic axes; throws core::Error where no block is.
Point position_inside(const LeafOwners& owners, std::int64_t id, const Point& position);

/// Moves items to the ranks whose blocks hold their `position`, a point of the domain that some block holds.
/// Collective.
template <typename T>
std::vector<T> dealt(const comm::Communicator& comm, const LeafOwners& owners, std::vector<T> items) {
  comm::ByRank<T> outgoing;
  std::size_t kept = 0;
  for (const T& item : items) {
    if (comm.size() == 1 || owners.here(item.position).level >= 0)
      items[kept++] = item;
    else
      outgoing[owners.owner(item.position)].push_back(item);
  }
  items.resize(kept);
  for (const auto& [rank, some] : comm::deliver(comm, outgoing).incoming)
    items.insert(items.end(), some.begin(), some.end());
  return items;
}

}  // namespace sidestream::analysis
