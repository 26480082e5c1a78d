#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sidestream/core/error.hpp"
#include "sims/host/host_state.hpp"

namespace sidestream::sims {

namespace {

using mesh::Box;
using mesh::Int3;

// A block as it travels.
struct Told {
  std::int32_t level = 0, rank = 0;
  Box box;
};

constexpr int most_levels = 30;

Int3 active_axes(const Box& domain) {
  const Int3 n = domain.extent();
  return {n.x > 1, n.y > 1, n.z > 1};
}

std::string name_of(const Told& block) {
  return fmt::format("block {} along x, y, z of level {}, rank {}", to_string(block.box), block.level, block.rank);
}

// By so many levels; cells that are cut are seen by `refined`.
Box coarsened(const Box& fine, const Int3& active, int levels) {
  Box box = fine;
  for (int axis = 0; axis < 3; ++axis)
    if (active[axis] != 0) {
      box.lo[axis] >>= levels;
      box.hi[axis] = ((box.hi[axis] - 1) >> levels) + 1;
    }
  return box;
}

Box refined(const Box& coarse, const Int3& active, int levels) {
  Box box = coarse;
  for (int axis = 0; axis < 3; ++axis)
    if (active[axis] != 0) {
      box.lo[axis] <<= levels;
      box.hi[axis] <<= levels;
    }
  return box;
}

void check_block(const Told& block, const mesh::Geometry& geometry) {
  const Int3 active = active_axes(geometry.domain);
  if (block.level < 0 || block.level > most_levels)
    throw core::Error(fmt::format("a block has the level {}", block.level), fmt::format("rank {}", block.rank),
                      fmt::format("levels are counted from 0, the coarsest, to {}", most_levels));
  if (block.box.is_empty())
    throw core::Error("a block has no cells", name_of(block), "give only blocks that have some");
  const Box domain = geometry.refined(block.level).domain;
  if (!domain.contains(block.box))
    throw core::Error("a block reaches beyond the domain", name_of(block),
                      fmt::format("that level has the cells {}", to_string(domain)));
  if (block.level > 0 && refined(coarsened(block.box, active, 1), active, 1) != block.box)
    throw core::Error("a block of a finer level cuts a cell of the coarser one", name_of(block),
                      "let finer blocks begin and end at even numbers");
}

// The pieces of `box` beside `hole`, which meets it.
void cut_out(const Box& box, const Box& hole, std::vector<Box>& beside) {
  Box rest = box;
  for (int axis = 2; axis >= 0; --axis) {
    if (hole.lo[axis] > rest.lo[axis]) {
      Box low = rest;
      low.hi[axis] = rest.lo[axis] = hole.lo[axis];
      beside.push_back(low);
    }
    if (hole.hi[axis] < rest.hi[axis]) {
      Box high = rest;
      high.lo[axis] = rest.hi[axis] = hole.hi[axis];
      beside.push_back(high);
    }
  }
}

// What is covered whole stays in one piece: formats of equal blocks take it.
struct Pieces {
  std::vector<Box> leaves, covered;
};

Pieces pieces_of(const Box& box, const std::vector<Box>& covers) {
  Pieces all{{box}, {}};
  for (const Box& cover : covers) {
    std::vector<Box> still;
    for (const Box& piece : all.leaves) {
      const Box hole = intersection(piece, cover);
      if (hole.is_empty()) {
        still.push_back(piece);
      } else {
        all.covered.push_back(hole);
        cut_out(piece, hole, still);
      }
    }
    all.leaves = std::move(still);
  }
  if (all.leaves.empty()) all.covered = {box};
  return all;
}

// The regions of a level that finer ones cover.
mesh::Layout covers_of(const std::vector<std::vector<Told>>& levels, std::size_t level,
                       const mesh::Geometry& geometry) {
  std::vector<Box> boxes;
  for (std::size_t finer = level + 1; finer < levels.size(); ++finer)
    for (const Told& block : levels[finer])
      boxes.push_back(coarsened(block.box, active_axes(geometry.domain), static_cast<int>(finer - level)));
  std::vector<std::int32_t> owners(boxes.size(), 0);
  return {geometry.refined(static_cast<int>(level)).domain, geometry.periodic, std::move(boxes), std::move(owners),
          static_cast<int>(level)};
}

std::string where_missing(const Box& domain, const std::vector<Told>& blocks) {
  constexpr std::size_t many = 4096;  // to look through
  std::vector<Box> boxes;
  for (const Told& block : blocks) boxes.push_back(block.box);
  const std::vector<Box> missing = boxes.size() < many ? pieces_of(domain, boxes).leaves : std::vector<Box>{domain};
  return fmt::format("the cells {} along x, y, z", to_string(missing.front()));
}

// Level 0 lies everywhere, and each finer one on the one before.
void check_cover(const std::vector<std::vector<Told>>& levels, const mesh::Geometry& geometry) {
  const Int3 active = active_axes(geometry.domain);
  std::vector<mesh::Layout> all;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    for (const Told& block : levels[level]) {
      boxes.push_back(block.box);
      owners.push_back(block.rank);
    }
    all.emplace_back(geometry.refined(static_cast<int>(level)).domain, geometry.periodic, boxes, owners,
                     static_cast<int>(level));
    for (const Told& block : levels[level])
      all.back().for_each_meeting(block.box, [&](std::int32_t other) {
        const Told& second = levels[level][static_cast<std::size_t>(other)];
        if (&second != &block)
          throw core::Error("two blocks have cells in common", name_of(block) + "; " + name_of(second),
                            "each cell belongs to one block: give blocks without their ghost cells");
      });
  }
  std::int64_t cells = 0;
  for (const Told& block : levels.front()) cells += block.box.volume();
  if (const std::int64_t missing = geometry.domain.volume() - cells; missing != 0)
    throw core::Error(fmt::format("{} of {} cells of level 0 belong to no block", missing, geometry.domain.volume()),
                      where_missing(geometry.domain, levels.front()),
                      "the blocks of all ranks together tile the domain");
  for (std::size_t level = 1; level < levels.size(); ++level)
    for (const Told& block : levels[level]) {
      bool lies_on_any = false;
      std::int64_t found = 0;
      for (std::size_t coarser = level; coarser-- > 0 && !lies_on_any;) {
        if (levels[coarser].empty()) continue;
        const Box below = coarsened(block.box, active, static_cast<int>(level - coarser));
        all[coarser].for_each_meeting(
            below, [&](std::int32_t other) { found += intersection(below, all[coarser].box(other)).volume(); });
        lies_on_any = true;
        if (found != below.volume())
          throw core::Error("a block of a finer level reaches beyond those of the coarser one", name_of(block),
                            "finer blocks lie on coarser ones as a whole");
      }
    }
}

std::vector<std::vector<Told>> gathered(const comm::Communicator& comm, const HostMesh& mesh) {
  std::vector<Told> own;
  comm.agree_on([&] {
    for (const HostBlock& block : mesh.blocks) {
      own.push_back({block.level, comm.rank(), block.box});
      check_block(own.back(), mesh.geometry);
    }
  });
  std::vector<std::vector<Told>> levels(1);
  for (const Told& block : comm.all_gather(std::span<const Told>(own))) {
    const auto level = static_cast<std::size_t>(block.level);
    if (level >= levels.size()) levels.resize(level + 1);
    levels[level].push_back(block);
  }
  return levels;
}

}  // namespace

HostLevels levels_of(const comm::Communicator& comm, const HostMesh& mesh) {
  const std::vector<std::vector<Told>> levels = gathered(comm, mesh);
  comm.agree_on([&] { check_cover(levels, mesh.geometry); });
  HostLevels made;
  std::vector<std::vector<std::size_t>> numbers(levels.size());  // of this rank's blocks of each level
  for (std::size_t n = 0; n < mesh.blocks.size(); ++n)
    numbers[static_cast<std::size_t>(mesh.blocks[n].level)].push_back(n);
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const mesh::Layout covers = covers_of(levels, level, mesh.geometry);
    std::vector<Box> blocks, leaves;
    std::vector<std::int32_t> block_owners, leaf_owners;
    std::vector<std::size_t> block_of;
    std::size_t own = 0;
    for (const Told& block : levels[level]) {
      std::vector<std::int32_t> meeting;
      if (covers.size() > 0) covers.for_each_meeting(block.box, [&](std::int32_t cover) { meeting.push_back(cover); });
      std::ranges::sort(meeting);
      std::vector<Box> holes;
      for (const std::int32_t cover : meeting) holes.push_back(covers.box(cover));
      const Pieces pieces = pieces_of(block.box, holes);
      leaves.insert(leaves.end(), pieces.leaves.begin(), pieces.leaves.end());
      blocks.insert(blocks.end(), pieces.leaves.begin(), pieces.leaves.end());
      blocks.insert(blocks.end(), pieces.covered.begin(), pieces.covered.end());
      leaf_owners.resize(leaves.size(), block.rank);
      block_owners.resize(blocks.size(), block.rank);
      if (block.rank != comm.rank()) continue;
      block_of.insert(block_of.end(), pieces.leaves.size() + pieces.covered.size(), numbers[level][own++]);
    }
    const Box domain = mesh.geometry.refined(static_cast<int>(level)).domain;
    const auto layout = [&](std::vector<Box>& boxes, std::vector<std::int32_t>& owners) {
      return mesh::Layout(domain, mesh.geometry.periodic, std::move(boxes), std::move(owners), static_cast<int>(level));
    };
    made.layouts.blocks.push_back(layout(blocks, block_owners));
    made.layouts.leaves.push_back(layout(leaves, leaf_owners));
    made.block_of.push_back(std::move(block_of));
  }
  return made;
}

}  // namespace sidestream::sims
