#include "fft/process_grid.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace sidestream::fft {

namespace {

ProcessGrid slabs(mesh::Int3 cells, mesh::Int3 modes, int ranks) {
  return {1, std::min({ranks, modes.y, cells.z})};
}

// Most ranks first, then the squarest grid (fewest messages), then more rows.
ProcessGrid pencils(mesh::Int3 cells, mesh::Int3 modes, int ranks) {
  const auto merit = [](ProcessGrid grid) {
    return std::tuple(grid.ranks(), -std::abs(grid.rows - grid.columns), grid.rows);
  };
  ProcessGrid best;
  for (int rows = 1; rows <= std::min({ranks, modes.x, cells.y}); ++rows) {
    const ProcessGrid grid{rows, std::min({ranks / rows, modes.y, cells.z})};
    if (merit(grid) > merit(best)) best = grid;
  }
  return best;
}

}  // namespace

ProcessGrid choose_process_grid(mesh::Int3 cells, mesh::Int3 modes, int ranks, Decomposition decomposition) {
  const ProcessGrid flat = slabs(cells, modes, ranks), square = pencils(cells, modes, ranks);
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
