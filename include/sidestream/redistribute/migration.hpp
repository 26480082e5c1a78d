#pragma once

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::redistribute {

/// Moves each particle to the rank that owns the cell it is in (first wrapping its position into the domain on periodic
/// axes). Within a rank the order of the particles afterwards is unspecified. Collective. Cost: messages only between
/// ranks that have particles for each other. Throws core::Error (on all ranks) for a position that is not finite or
/// outside every box.
void migrate(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry,
             mesh::Particles& particles);

}  // namespace sidestream::redistribute
