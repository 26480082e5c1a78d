#include "analysis/boundary.hpp"

#include <tuple>

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

// A run of one block as seen from another, `box`, in whose frame (periodic image) its cells are given.
struct GhostRun {
  std::int32_t box = 0, z = 0, y = 0;
  Run run;
  std::int32_t number = 0;  // of the run or of its component
};

// One cell on each axis; none on an axis of one cell, where the neighbours across the boundary are the cells of the
// same plane.
Int3 reach(const mesh::Layout& layout) {
  const Int3 cells = layout.domain().extent();
  return {cells.x > 1, cells.y > 1, cells.z > 1};
}

// Calls `f(ghost)` for each part of a run of the local block `block` that lies next to the image of the box `other`.
template <typename F>
void for_each_ghost_run(const Runs& runs, int block, std::int32_t other, Int3 shift, F f) {
  const mesh::Layout& layout = runs.field().layout();
  const Box near = layout.box(other).shifted(shift).grown(reach(layout));
  runs.for_each_in(block, near, [&](std::int32_t z, std::int32_t y, Run part, std::int32_t number) {
    f(GhostRun{other, z - shift.z, y - shift.y, {part.begin - shift.x, part.end - shift.x}, number});
  });
}

// Calls `f(block, other, shift)` for each local block and each box, or image of a box, that touches it.
template <typename F>
void for_each_contact(const Runs& runs, F f) {
  const mesh::Layout& layout = runs.field().layout();
  for (int b = 0; b < runs.blocks(); ++b)
    layout.for_each_image_meeting(runs.box(b).grown(reach(layout)),
                                  [&](std::int32_t other, Int3 shift) { f(b, other, shift); });
}

// Calls `f(number)` for each run of the local block `block` with cells next to those of `ghost`.
template <typename F>
void for_each_run_at(const Runs& runs, int block, std::span<const RowOffset> rows, const GhostRun& ghost, F f) {
  for (const RowOffset& offset : rows) {
    const auto there = runs.row(block, ghost.z + offset.dz, ghost.y + offset.dy);
    if (there.empty()) continue;
    const std::int32_t first = runs.first(block, ghost.z + offset.dz, ghost.y + offset.dy);
    const std::int32_t begin = ghost.run.begin + offset.dx_low, end = ghost.run.end + offset.dx_high;
    auto run = std::partition_point(there.begin(), there.end(), [&](const Run& r) { return r.end <= begin; });
    for (; run != there.end() && run->begin < end; ++run) f(first + static_cast<std::int32_t>(run - there.begin()));
  }
}

int local_block(const Runs& runs, std::int32_t box) {
  const auto mine = runs.field().layout().boxes_of(runs.field().rank());
  return static_cast<int>(std::lower_bound(mine.begin(), mine.end(), box) - mine.begin());
}

bool is_forward(Int3 shift) {
  return std::tie(shift.z, shift.y, shift.x) > std::tuple(0, 0, 0);
}

void sort_and_deduplicate(std::vector<CrossEdge>& edges, bool by_here) {
  const auto key = [by_here](const CrossEdge& e) {
    return by_here ? std::tie(e.here, e.there) : std::tie(e.there, e.here);
  };
  std::sort(edges.begin(), edges.end(), [key](const CrossEdge& a, const CrossEdge& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
}

// The runs next to blocks of lower ranks, for each of these.
std::vector<std::vector<GhostRun>> runs_for_lower_ranks(const comm::Communicator& comm, const Runs& runs,
                                                        std::span<const std::int32_t> component_of) {
  std::vector<std::vector<GhostRun>> outgoing(static_cast<std::size_t>(comm.size()));
  for_each_contact(runs, [&](int block, std::int32_t other, Int3 shift) {
    const std::int32_t owner = runs.field().layout().owner(other);
    if (owner >= comm.rank()) return;
    for_each_ghost_run(runs, block, other, shift, [&](GhostRun ghost) {
      ghost.number = component_of[static_cast<std::size_t>(ghost.number)];
      outgoing[static_cast<std::size_t>(owner)].push_back(ghost);
    });
  });
  return outgoing;
}

}  // namespace

void unite_across_blocks(const Runs& runs, Connectivity connectivity, UnionFind& sets) {
  const auto rows = row_offsets(connectivity);
  const mesh::Layout& layout = runs.field().layout();
  const auto mine = layout.boxes_of(runs.field().rank());
  for_each_contact(runs, [&](int block, std::int32_t other, Int3 shift) {
    const std::int32_t self = mine[static_cast<std::size_t>(block)];
    const bool is_once = other < self || (other == self && is_forward(shift));
    if (layout.owner(other) != runs.field().rank() || !is_once) return;
    const int there = local_block(runs, other);
    for_each_ghost_run(runs, block, other, shift, [&](const GhostRun& ghost) {
      for_each_run_at(runs, there, rows, ghost, [&](std::int32_t number) { sets.unite(ghost.number, number); });
    });
  });
}

std::vector<std::vector<CrossEdge>> cross_edges(const comm::Communicator& comm, const Runs& runs,
                                                Connectivity connectivity, std::span<const std::int32_t> component_of) {
  const auto rows = row_offsets(connectivity);
  const auto incoming = comm.exchange(runs_for_lower_ranks(comm, runs, component_of));

  // The lower rank of each pair finds the edges and tells the higher one.
  std::vector<std::vector<CrossEdge>> edges(incoming.size());
  for (std::size_t rank = 0; rank < incoming.size(); ++rank) {
    for (const GhostRun& ghost : incoming[rank])
      for_each_run_at(runs, local_block(runs, ghost.box), rows, ghost, [&](std::int32_t number) {
        edges[rank].push_back({component_of[static_cast<std::size_t>(number)], ghost.number});
      });
    sort_and_deduplicate(edges[rank], true);
  }
  const auto told = comm.exchange(edges);
  for (std::size_t rank = 0; rank < told.size(); ++rank)
    for (const CrossEdge& edge : told[rank]) edges[rank].push_back({edge.there, edge.here});
  return edges;
}

}  // namespace sidestream::analysis
