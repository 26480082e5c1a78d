#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/components/cell_runs.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/merge_tree/link.hpp"

namespace sidestream::analysis {

/// Linear indices, in the domain of the finest level, of the cells of one level (of their lowest corners).
class CellIndex {
 public:
  CellIndex(const mesh::Box& finest_domain, int levels_below_finest)
      : domain_(finest_domain), bits_(bits_between(finest_domain, levels_below_finest)) {}

  std::int64_t operator()(mesh::Int3 cell) const { return linear_index(domain_, refined(cell, bits_)); }

 private:
  mesh::Box domain_;
  mesh::Int3 bits_;
};

/// Two maxima, or two cells, that are connected at a saddle and above.
struct Edge {
  Saddle saddle;
  std::int32_t a = 0, b = 0;
};

/// Finds for each active cell of a block a higher neighbour in the block (`up` at the cell's number: the number of that
/// neighbour, or its own at a maximum), and appends the edges between cells that make the graph of (ways up and edges)
/// as connected, at any height, as the cells of the block are. A cell gives edges only if its higher neighbours are not
/// connected next to it.
void find_ascents(const Runs& runs, int block, const Link& link, const CellIndex& index, std::span<std::int32_t> up,
                  std::vector<Edge>& edges);

/// Follows the ways up of a block: `up` becomes, for each of its cells, the number of the maximum reached, where maxima
/// are numbered from `peaks.size()` on, in the order of cells; and appends these to `peaks`, with `rank`.
void follow_ascents(const Runs& runs, int block, int rank, const CellIndex& index, std::span<std::int32_t> up,
                    std::vector<Peak>& peaks);

}  // namespace sidestream::analysis
