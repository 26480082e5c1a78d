#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/mesh/box.hpp"

namespace sidestream::analysis {

/// Which cells of a grid are neighbours: those that share a face; those joined by an edge of the Freudenthal (Kuhn)
/// triangulation, whose offsets have components all >= 0 or all <= 0; or those that share a face, an edge or a corner.
enum class Connectivity : std::int32_t { faces = 6, freudenthal = 14, full = 26 };

/// The connectivity with so many neighbours a cell; throws core::Error unless that is 6, 14 or 26.
Connectivity connectivity_of(std::int64_t neighbors);

/// The offsets from a cell to its neighbours.
std::vector<mesh::Int3> neighbor_offsets(Connectivity connectivity);

/// The neighbours of a cell in one row along x: those at (z + dz, y + dy) from x + dx_low to x + dx_high, inclusive.
struct RowOffset {
  std::int32_t dz = 0, dy = 0, dx_low = 0, dx_high = 0;
};

/// `neighbor_offsets` by rows. The row of the cell itself is among them.
std::vector<RowOffset> row_offsets(Connectivity connectivity);

}  // namespace sidestream::analysis
