#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/links/members.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// The side of the tiles in which cells are kept, in cells of their level. A tile begins at a multiple of it.
constexpr std::int32_t tile_cells = 8;

/// What is kept of a snapshot around some of its cells.
struct CutOut {
  std::shared_ptr<const mesh::Snapshot> snapshot;  ///< null where nothing is
  std::int64_t cells = 0;                          ///< leaf cells in it
};

/// The quantities `names` in the leaf cells that runs of cells (`kept`, each on the rank that owns it) touch when they
/// are grown by `margin` cells of their own level in all directions, across periodic boundaries. The domain of each
/// level is cut into tiles; of each that is touched the bounding box of the touched cells is kept, so that the boxes
/// are disjoint and, on a uniform mesh, do not depend on the blocks; on a refined mesh no box leaves its block. A level
/// without cells of its own below one that has some holds the cells beneath those, with NaN. Collective. Fields move
/// from their owners to those of the boxes, which own the lowest corners of the tiles; the list of boxes is replicated.
CutOut cut_out(const comm::Communicator& comm, const mesh::Snapshot& snapshot, std::span<const MemberRun> kept,
               std::int32_t margin, const std::vector<std::string>& names);

}  // namespace sidestream::analysis
