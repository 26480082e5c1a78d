#include "analysis/regions/cut_out.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "analysis/at.hpp"
#include "analysis/fields/levels.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

// Level, tile, and on a refined mesh the block: the order of boxes in files.
using TileKey = std::array<std::int64_t, 3>;
using Tiles = std::map<TileKey, Box>;

struct KeptBox {
  TileKey key;
  Box box;
  std::int32_t owner = 0;
};

Box hull(const Box& a, const Box& b) {
  return {{std::min(a.lo.x, b.lo.x), std::min(a.lo.y, b.lo.y), std::min(a.lo.z, b.lo.z)},
          {std::max(a.hi.x, b.hi.x), std::max(a.hi.y, b.hi.y), std::max(a.hi.z, b.hi.z)}};
}

// Calls `f(tile, part)` for the part of a box in each tile that it meets; tiles are counted along each axis.
template <typename F>
void for_each_tile(const Box& box, F f) {
  const auto of = [](Int3 cell) { return Int3{cell.x / tile_cells, cell.y / tile_cells, cell.z / tile_cells}; };
  const Int3 first = of(box.lo), last = of(box.hi - Int3{1, 1, 1});
  for (std::int32_t z = first.z; z <= last.z; ++z)
    for (std::int32_t y = first.y; y <= last.y; ++y)
      for (std::int32_t x = first.x; x <= last.x; ++x) {
        const Int3 corner{x * tile_cells, y * tile_cells, z * tile_cells};
        f(corner, intersection(box, {corner, corner + Int3{tile_cells, tile_cells, tile_cells}}));
      }
}

void add(Tiles& tiles, const TileKey& key, const Box& box) {
  const auto [known, is_new] = tiles.try_emplace(key, box);
  if (!is_new) known->second = hull(known->second, box);
}

// The leaf cells of this rank's runs and around them, by tiles.
class Surroundings {
 public:
  Surroundings(const mesh::Snapshot& snapshot, std::int32_t margin)
      : snapshot_(snapshot), root_(snapshot.levels.front().domain()) {
    for (int axis = 0; axis < 3; ++axis) width_[axis] = root_.extent()[axis] > 1 ? margin : 0;
  }

  void add_run(const MemberRun& run) {
    const auto level = static_cast<int>(run.level);
    const Box& domain = snapshot_.levels[at(level)].domain();
    const Int3 n = domain.extent();
    const Box grown = box_of(run, domain).grown(width_);
    const auto images = [&](int axis) {
      return snapshot_.geometry.periodic[at(axis)] && width_[axis] > 0 ? std::vector{-n[axis], 0, n[axis]}
                                                                       : std::vector{0};
    };
    for (const std::int32_t z : images(2))
      for (const std::int32_t y : images(1))
        for (const std::int32_t x : images(0)) {
          const Box inside = intersection(grown.shifted({x, y, z}), domain);
          if (!inside.is_empty()) add_cells(level, inside);
        }
  }
  const Tiles& tiles() const { return tiles_; }

 private:
  void add_cells(int of_level, const Box& cells) {
    for (int level = 0; level <= snapshot_.finest_level(); ++level) {
      const Box region = level >= of_level ? refined(cells, bits_between(root_, level - of_level))
                                           : coarsened(cells, bits_between(root_, of_level - level));
      const mesh::Layout& leaves = snapshot_.levels[at(level)];
      leaves.for_each_meeting(region, [&](std::int32_t index) {
        const Box& leaf = leaves.box(index);
        const std::int64_t block = snapshot_.is_refined() ? linear_index(leaves.domain(), leaf.lo) : 0;
        for_each_tile(intersection(region, leaf), [&](Int3 corner, const Box& part) {
          add(tiles_, {level, linear_index(leaves.domain(), corner), block}, part);
        });
      });
    }
  }

  const mesh::Snapshot& snapshot_;
  Box root_;
  Int3 width_;
  Tiles tiles_;
};

// Of a tile the rank with its lowest corner, where blocks are whatever the simulation likes; else that of the block.
std::int32_t owner_of(const mesh::Snapshot& snapshot, const TileKey& key) {
  const mesh::Layout& leaves = snapshot.levels[at(key[0])];
  const std::int64_t cell = snapshot.is_refined() ? key[2] : key[1];
  return leaves.owner(leaves.find(cell_at(leaves.domain(), cell)));
}

// The boxes of all ranks on all ranks, in their order.
std::vector<KeptBox> kept_boxes(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const Tiles& mine) {
  comm::ByRank<KeptBox> outgoing;
  for (const auto& [key, box] : mine) {
    const std::int32_t owner = owner_of(snapshot, key);
    outgoing[owner].push_back({key, box, owner});
  }
  Tiles whole;
  for (const auto& [rank, boxes] : comm::deliver(comm, outgoing).incoming)
    for (const KeptBox& part : boxes) add(whole, part.key, part.box);
  std::vector<KeptBox> own;
  for (const auto& [key, box] : whole) own.push_back({key, box, comm.rank()});
  std::vector<KeptBox> all = comm.all_gather(std::span<const KeptBox>(own));
  std::ranges::sort(all, {}, &KeptBox::key);
  return all;
}

mesh::Layout layout_of(const mesh::Layout& leaves, std::vector<Box> boxes, std::vector<std::int32_t> owners) {
  return {leaves.domain(), leaves.periodic(), std::move(boxes), std::move(owners), leaves.level()};
}

// The cells of a level under the boxes of the next finer one, by tiles.
mesh::Layout beneath(const mesh::Layout& finer, const mesh::Layout& leaves) {
  std::map<std::int64_t, std::pair<Box, std::int32_t>> tiles;
  for (std::int32_t b = 0; b < finer.size(); ++b)
    for_each_tile(coarsened(finer.box(b), bits_between(finer.domain(), 1)), [&](Int3 corner, const Box& part) {
      const auto [known, is_new] =
          tiles.try_emplace(linear_index(leaves.domain(), corner), std::pair(part, finer.owner(b)));
      if (!is_new) known->second.first = hull(known->second.first, part);
    });
  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  for (const auto& [tile, kept] : tiles) {
    boxes.push_back(kept.first);
    owners.push_back(kept.second);
  }
  return layout_of(leaves, std::move(boxes), std::move(owners));
}

// Of each level up to the finest that has boxes.
std::vector<mesh::Layout> layouts_of(const mesh::Snapshot& snapshot, const std::vector<KeptBox>& kept) {
  std::vector<mesh::Layout> layouts;
  auto next = kept.begin();
  for (std::size_t level = 0; next != kept.end(); ++level) {
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    for (; next != kept.end() && at(next->key[0]) == level; ++next) {
      boxes.push_back(next->box);
      owners.push_back(next->owner);
    }
    layouts.push_back(layout_of(snapshot.levels[level], std::move(boxes), std::move(owners)));
  }
  for (std::size_t level = layouts.size(); level-- > 1;)
    if (layouts[level - 1].size() == 0) layouts[level - 1] = beneath(layouts[level], snapshot.levels[level - 1]);
  return layouts;
}

mesh::Snapshot without_cells(const mesh::Snapshot& snapshot, std::vector<mesh::Layout> layouts, int rank) {
  mesh::Snapshot part = snapshot.frame();
  part.rank = rank;
  part.levels = std::move(layouts);
  if (part.is_refined()) part.with_refined = part.levels;
  return part;
}

}  // namespace

CutOut cut_out(const comm::Communicator& comm, const mesh::Snapshot& snapshot, std::span<const MemberRun> kept,
               std::int32_t margin, const std::vector<std::string>& names) {
  Surroundings around(snapshot, margin);
  for (const MemberRun& run : kept) around.add_run(run);
  const std::vector<KeptBox> boxes = kept_boxes(comm, snapshot, around.tiles());
  CutOut found;
  for (const KeptBox& box : boxes) found.cells += box.box.volume();
  if (boxes.empty()) return found;
  auto part = std::make_shared<mesh::Snapshot>(without_cells(snapshot, layouts_of(snapshot, boxes), comm.rank()));
  std::vector<redistribute::Redistribution> plans;
  for (std::size_t level = 0; level < part->levels.size(); ++level)
    plans.emplace_back(comm, snapshot.levels[level], part->levels[level]);
  for (const std::string& name : names) {
    const LeafField from = field_or_total(snapshot, name);
    std::vector<mesh::Field<double>> fields;
    for (std::size_t level = 0; level < part->levels.size(); ++level) {
      mesh::Field<double>& to = fields.emplace_back(part->levels[level], comm.rank());
      std::ranges::fill(to.all(), std::numeric_limits<double>::quiet_NaN());
      plans[level].apply(from[level], to);
    }
    part->add({name, unit_of(snapshot, name)}, std::move(fields));
  }
  found.snapshot = std::move(part);
  return found;
}

}  // namespace sidestream::analysis
