#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::redistribute {

/// Moves each particle to the rank that owns the cell it is in (first wrapping its position into the domain on periodic
/// axes), or the `home_of` its cell where no box of `layout`, a refined level, holds it. Within a rank the order of the
/// particles afterwards is unspecified. Collective. Cost: messages only between ranks that have particles for each
/// other. Throws core::Error (on all ranks) for a position that is not finite or too far from every box.
void migrate(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
             mesh::Particles& particles);

/// Moves each particle of the levels from `from_level` up to the finest level whose blocks hold its cell and all cells
/// (of that level) up to `margin` away from it, and there to the owner of its block; where that level is coarser than
/// `from_level`, to `from_level` as `migrate` does. `margin`: at most the cells of a block; 0: the level of the leaf.
/// `levels` are the particles of each level, all with the same attributes. Otherwise like `migrate`.
void migrate_levels(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy,
                    std::vector<mesh::Particles>& levels, int from_level = 0, std::int32_t margin = 0);

}  // namespace sidestream::redistribute
