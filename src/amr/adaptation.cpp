#include "sidestream/amr/adaptation.hpp"

#include <algorithm>

namespace sidestream::amr {

namespace {

using mesh::Adaptation;
using mesh::Box;
using mesh::Hierarchy;
using mesh::Int3;

/// What a rank asks of a block, its own or another's.
struct Wish {
  std::int32_t level = 0, block = 0;
  Adaptation wish = Adaptation::keep;
};

/// Whether `tagged`, grown by `buffer` cells, reaches beyond `box` on the side that `offset` points to.
bool reaches(const Box& tagged, const Box& box, Int3 offset, std::int32_t buffer) {
  for (int axis = 0; axis < 3; ++axis) {
    if (offset[axis] < 0 && tagged.lo[axis] - buffer >= box.lo[axis]) return false;
    if (offset[axis] > 0 && tagged.hi[axis] + buffer <= box.hi[axis]) return false;
  }
  return true;
}

/// The blocks within `buffer` cells of a box of cells of the block `key` are to be no coarser than it, or finer.
void spread(const mesh::Forest& forest, const mesh::BlockKey& key, const Box& cells, std::int32_t buffer, bool grows,
            std::vector<Wish>& wishes) {
  if (cells.is_empty()) return;
  const Box box = forest.box(key);
  const Int3 root = forest.cells();
  const Int3 last{root.x > 1 ? 1 : 0, root.y > 1 ? 1 : 0, root.z > 1 ? 1 : 0};
  for (std::int32_t z = -last.z; z <= last.z; ++z)
    for (std::int32_t y = -last.y; y <= last.y; ++y)
      for (std::int32_t x = -last.x; x <= last.x; ++x) {
        const Int3 offset{x, y, z};
        if (offset == Int3{} || !reaches(cells, box, offset, buffer)) continue;
        const std::int32_t neighbor = forest.neighbor(key, offset);
        if (neighbor >= 0) wishes.push_back({key.level, neighbor, grows ? Adaptation::refine : Adaptation::keep});
        if (neighbor == -1) wishes.push_back({key.level - 1, forest.coarser_neighbor(key, offset), Adaptation::refine});
      }
}

std::vector<Wish> own_wishes(const comm::Communicator& comm, const Hierarchy& hierarchy,
                             const std::vector<std::vector<Tags>>& tags, const AdaptationLimits& limits) {
  std::vector<Wish> wishes;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const auto own = hierarchy.layout(level).boxes_of(comm.rank());
    for (std::size_t b = 0; b < own.size(); ++b) {
      const Tags& tag = tags[static_cast<std::size_t>(level)][b];
      if (!hierarchy.is_leaf(level, own[b])) continue;
      if (tag.refine)
        wishes.push_back({level, own[b], Adaptation::refine});
      else if (tag.coarsen)
        wishes.push_back({level, own[b], Adaptation::coarsen});
      const mesh::BlockKey key = hierarchy.forest().key(level, own[b]);
      spread(hierarchy.forest(), key, tag.tagged, limits.buffer, tag.refine && level < limits.highest_level, wishes);
      if (level > limits.lowest_level) spread(hierarchy.forest(), key, tag.held, 2 * limits.buffer, false, wishes);
    }
  }
  return wishes;
}

}  // namespace

mesh::Forest adapted(const comm::Communicator& comm, const Hierarchy& hierarchy,
                     const std::vector<std::vector<Tags>>& tags, const AdaptationLimits& limits) {
  const mesh::Forest& forest = hierarchy.forest();
  const std::vector<Wish> own = own_wishes(comm, hierarchy, tags, limits);
  const std::vector<Wish> all = comm.all_gather(std::span(own));
  std::vector<std::vector<Adaptation>> wishes;
  for (int level = 0; level <= forest.finest_level(); ++level)
    wishes.emplace_back(static_cast<std::size_t>(forest.size(level)), Adaptation::keep);
  const auto at = [&](const Wish& wish) -> Adaptation& {
    return wishes[static_cast<std::size_t>(wish.level)][static_cast<std::size_t>(wish.block)];
  };
  for (const Wish& wish : all)
    if (wish.wish == Adaptation::coarsen) at(wish) = Adaptation::coarsen;
  for (const Wish& wish : all)
    if (wish.wish != Adaptation::coarsen) at(wish) = std::max(at(wish), wish.wish);
  return forest.adapted(wishes, limits.lowest_level, limits.highest_level);
}

std::vector<std::vector<double>> block_costs(const mesh::Forest& forest) {
  constexpr double idle = 0.02;
  std::vector<std::vector<double>> costs;
  for (int level = 0; level <= forest.finest_level(); ++level) {
    auto& of_level = costs.emplace_back();
    for (std::int32_t b = 0; b < forest.size(level); ++b)
      of_level.push_back(forest.is_near_leaf(level, b) ? 1.0 : idle);
  }
  return costs;
}

}  // namespace sidestream::amr
