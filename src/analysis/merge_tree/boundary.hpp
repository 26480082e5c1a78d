#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analysis/components/cell_runs.hpp"
#include "analysis/merge_tree/steepest_ascent.hpp"

namespace sidestream::analysis {

/// The active cells of one rank that lie next to blocks of another one, as seen from there.
struct Surface {
  /// A run as seen from a box of `level`, in whose frame (periodic image) its cells are given, on a grid `finer` levels
  /// finer than that box has.
  struct RunThere {
    std::int32_t level = 0, finer = 0, box = 0, z = 0, y = 0;
    Run run;
    std::int32_t first_cell = 0;  ///< of the run, in `cells`
  };
  struct Cell {
    double height = 0.0;
    std::int32_t maximum = 0, padding = 0;  ///< the maximum it leads up to, a position in `peaks`
  };
  std::vector<RunThere> runs;
  std::vector<Cell> cells;
  std::vector<Peak> peaks;
};

std::vector<std::byte> packed(const Surface& surface);
Surface surface_from(std::span<const std::byte> message);

/// The edges between maxima of different blocks of this rank, on one level (of `levels`, coarsest first) or two, also
/// across periodic boundaries; of those between the same two maxima the highest. `maximum_of` is the maximum of each
/// active cell. Cells of two levels are neighbours where the finer one has a neighbour, on its own grid, inside the
/// coarser one.
std::vector<Edge> edges_across_blocks(std::span<const Runs> levels, Connectivity connectivity,
                                      std::span<const std::int32_t> maximum_of, int threads);

/// What other ranks must see of this one to find the edges between the two: of blocks of one level, the
/// lower rank sees the other one; of two levels, the owner of the coarser block.
std::map<int, Surface> surfaces_for_others(std::span<const Runs> levels, std::span<const std::int32_t> maximum_of,
                                           std::span<const Peak> peaks);

/// The edges between maxima here (`a`) and the peaks of a surface of another rank (`b`), of the same two the highest.
std::vector<Edge> edges_to(const Surface& surface, std::span<const Runs> levels, Connectivity connectivity,
                           std::span<const std::int32_t> maximum_of);

}  // namespace sidestream::analysis
