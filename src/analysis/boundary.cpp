#include "analysis/boundary.hpp"

#include <tuple>

#include "analysis/levels.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

// A local block, number `block` on `level`, and a box, or periodic image of a box, that it touches: on its own level or
// a coarser one, in the cells of which `shift` is counted.
struct Contact {
  int level = 0, block = 0, other_level = 0;
  std::int32_t other = 0;
  Int3 shift;
};

// A run of one block as seen from another, `box` of `level`, in whose frame (periodic image) its cells are given, on a
// grid `finer` levels finer than that box has.
struct GhostRun {
  std::int32_t level = 0, finer = 0, box = 0, z = 0, y = 0;
  Run run;
  std::int32_t number = 0;  // of the run or of its component
};

const mesh::Layout& layout_of(const Runs& runs) {
  return runs.field().layout();
}

const Runs& at(std::span<const Runs> levels, int level) {
  return levels[static_cast<std::size_t>(level)];
}

Int3 bits_of(const Runs& runs, int levels) {
  return bits_between(layout_of(runs).domain(), levels);
}

// One cell on each axis; none on an axis of one cell, where the neighbours across the boundary are the cells of the
// same plane.
Int3 reach(const Runs& runs) {
  return bits_of(runs, 1);
}

// Calls `f(contact)` for each local block and each box, or image of a box, that it touches on its own level or a
// coarser one.
template <typename F>
void for_each_contact(std::span<const Runs> levels, F f) {
  for (int level = 0; level < static_cast<int>(levels.size()); ++level) {
    const Runs& runs = at(levels, level);
    for (int b = 0; b < runs.blocks(); ++b)
      for (int coarse = 0; coarse <= level; ++coarse) {
        const Box near = coarsened(runs.box(b).grown(reach(runs)), bits_of(runs, level - coarse));
        layout_of(at(levels, coarse)).for_each_image_meeting(near, [&](std::int32_t other, Int3 shift) {
          f(Contact{level, b, coarse, other, shift});
        });
      }
  }
}

// Calls `f(ghost)` for each part of a run of the contact's block that lies next to its box.
template <typename F>
void for_each_ghost_run(std::span<const Runs> levels, const Contact& contact, F f) {
  const Runs& runs = at(levels, contact.level);
  const int finer = contact.level - contact.other_level;
  const Int3 bits = bits_of(runs, finer), shift = refined(contact.shift, bits);
  const Box other = refined(layout_of(at(levels, contact.other_level)).box(contact.other), bits);
  const Box near = other.shifted(shift).grown(reach(runs));
  runs.for_each_in(contact.block, near, [&](std::int32_t z, std::int32_t y, Run part, std::int32_t number) {
    const Run run{part.begin - shift.x, part.end - shift.x};
    f(GhostRun{contact.other_level, finer, contact.other, z - shift.z, y - shift.y, run, number});
  });
}

// Calls `f(number)` for each run of the local block that is the box of `ghost` with cells next to those of `ghost`.
template <typename F>
void for_each_run_at(std::span<const Runs> levels, std::span<const RowOffset> rows, const GhostRun& ghost, F f) {
  const Runs& runs = at(levels, ghost.level);
  const auto mine = layout_of(runs).boxes_of(runs.field().rank());
  const auto block = static_cast<int>(std::lower_bound(mine.begin(), mine.end(), ghost.box) - mine.begin());
  const Int3 bits = bits_of(runs, ghost.finer);
  for (const RowOffset& offset : rows) {
    const std::int32_t z = (ghost.z + offset.dz) >> bits.z, y = (ghost.y + offset.dy) >> bits.y;
    const auto there = runs.row(block, z, y);
    if (there.empty()) continue;
    const std::int32_t first = runs.first(block, z, y);
    const std::int32_t begin = ghost.run.begin + offset.dx_low, end = ghost.run.end + offset.dx_high;
    auto run = std::partition_point(there.begin(), there.end(), [&](const Run& r) { return r.end << bits.x <= begin; });
    for (; run != there.end() && run->begin << bits.x < end; ++run)
      f(first + static_cast<std::int32_t>(run - there.begin()));
  }
}

bool is_forward(Int3 shift) {
  return std::tie(shift.z, shift.y, shift.x) > std::tuple(0, 0, 0);
}

// Whether the contact of two local blocks is not the one that the other block has with this one.
bool is_once(const Contact& contact, std::int32_t self) {
  return contact.other_level < contact.level || contact.other < self ||
         (contact.other == self && is_forward(contact.shift));
}

void sort_and_deduplicate(std::vector<CrossEdge>& edges, bool by_here) {
  const auto key = [by_here](const CrossEdge& e) {
    return by_here ? std::tie(e.here, e.there) : std::tie(e.there, e.here);
  };
  std::sort(edges.begin(), edges.end(), [key](const CrossEdge& a, const CrossEdge& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

// The runs next to blocks of other ranks, for each of these: where both are of one level, if its rank is the lower one;
// else if its level is the lower one.
std::vector<std::vector<GhostRun>> runs_for_others(const comm::Communicator& comm, std::span<const Runs> levels,
                                                   std::span<const std::int32_t> component_of) {
  std::vector<std::vector<GhostRun>> outgoing(static_cast<std::size_t>(comm.size()));
  for_each_contact(levels, [&](const Contact& contact) {
    const std::int32_t owner = layout_of(at(levels, contact.other_level)).owner(contact.other);
    if (contact.other_level == contact.level ? owner >= comm.rank() : owner == comm.rank()) return;
    for_each_ghost_run(levels, contact, [&](GhostRun ghost) {
      ghost.number = component_of[static_cast<std::size_t>(ghost.number)];
      outgoing[static_cast<std::size_t>(owner)].push_back(ghost);
    });
  });
  return outgoing;
}

}  // namespace

void unite_across_blocks(std::span<const Runs> levels, Connectivity connectivity, UnionFind& sets) {
  const auto rows = row_offsets(connectivity);
  for_each_contact(levels, [&](const Contact& contact) {
    const Runs& runs = at(levels, contact.level);
    const int rank = runs.field().rank();
    const std::int32_t self = layout_of(runs).boxes_of(rank)[static_cast<std::size_t>(contact.block)];
    if (layout_of(at(levels, contact.other_level)).owner(contact.other) != rank || !is_once(contact, self)) return;
    for_each_ghost_run(levels, contact, [&](const GhostRun& ghost) {
      for_each_run_at(levels, rows, ghost, [&](std::int32_t number) { sets.unite(ghost.number, number); });
    });
  });
}

std::vector<std::vector<CrossEdge>> cross_edges(const comm::Communicator& comm, std::span<const Runs> levels,
                                                Connectivity connectivity, std::span<const std::int32_t> component_of) {
  const auto rows = row_offsets(connectivity);
  const auto incoming = comm.exchange(runs_for_others(comm, levels, component_of));

  // The rank that got the runs finds the edges and tells the other one.
  std::vector<std::vector<CrossEdge>> edges(incoming.size());
  for (std::size_t rank = 0; rank < incoming.size(); ++rank) {
    for (const GhostRun& ghost : incoming[rank])
      for_each_run_at(levels, rows, ghost, [&](std::int32_t number) {
        edges[rank].push_back({component_of[static_cast<std::size_t>(number)], ghost.number});
      });
    sort_and_deduplicate(edges[rank], true);
  }
  const auto told = comm.exchange(edges);
  for (std::size_t rank = 0; rank < told.size(); ++rank) {
    for (const CrossEdge& edge : told[rank]) edges[rank].push_back({edge.there, edge.here});
    sort_and_deduplicate(edges[rank], static_cast<std::size_t>(comm.rank()) < rank);
  }
  return edges;
}

}  // namespace sidestream::analysis
