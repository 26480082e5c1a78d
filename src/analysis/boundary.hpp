#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/runs.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A component here that has cells next to those of a component of another rank.
struct CrossEdge {
  std::int32_t here = 0, there = 0;
  friend bool operator==(const CrossEdge&, const CrossEdge&) = default;
};

/// Unites the runs of different blocks of this rank that have neighbouring cells, on one level (of `levels`, coarsest
/// first) or two, also across periodic boundaries. Cells of two levels are neighbours where the finer one has a
/// neighbour, on its own grid, inside the coarser one.
void unite_across_blocks(std::span<const Runs> levels, Connectivity connectivity, UnionFind& sets);

/// The edges between the components of this rank and those of each other rank, without repetition, where `component_of`
/// is the component of each run. Both ranks of an edge list it, in the same order. Collective; cost: messages the size
/// of the blocks' surfaces between ranks whose blocks touch.
std::vector<std::vector<CrossEdge>> cross_edges(const comm::Communicator& comm, std::span<const Runs> levels,
                                                Connectivity connectivity, std::span<const std::int32_t> component_of);

}  // namespace sidestream::analysis
