#include "fft/process_grid.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace sidestream::fft {

namespace {

ProcessGrid slabs(mesh::Int3 cells, int ranks) {
  return {1, std::min({ranks, cells.y, cells.z})};
}

// Most ranks first, then the squarest grid (fewest messages), then more rows.
ProcessGrid pencils(mesh::Int3 cells, int ranks) {
  const auto merit = [](ProcessGrid grid) {
    return std::tuple(grid.ranks(), -std::abs(grid.rows - grid.columns), grid.rows);
  };
  ProcessGrid best;
  for (int rows = 1; rows <= std::min({ranks, cells.x / 2 + 1, cells.y}); ++rows) {
    const ProcessGrid grid{rows, std::min({ranks / rows, cells.y, cells.z})};
    if (merit(grid) > merit(best)) best = grid;
  }
  return best;
}

}  // namespace

ProcessGrid choose_process_grid(mesh::Int3 cells, int ranks, Decomposition decomposition) {
  const ProcessGrid flat = slabs(cells, ranks), square = pencils(cells, ranks);
  switch (decomposition) {
    case Decomposition::slabs:
      return flat;
    case Decomposition::pencils:
      return square;
    case Decomposition::automatic:
      break;
  }
  return flat.ranks() >= square.ranks() ? flat : square;
}

}  // namespace sidestream::fft
