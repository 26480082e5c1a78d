#pragma once

#include <vector>

#include "hierarchy.hpp"

namespace sidestream::bench {

/// Each particle on the rank whose box of the root it is in. Collective.
std::vector<Particle> brought_to_owners(const Hierarchy& hierarchy, const std::vector<Particle>& particles);

/// Particles of all ranks in the order of their numbers, which are those from 0 on: this rank's even share. Collective.
std::vector<Particle> sorted_share(const comm::Communicator& comm, const std::vector<Particle>& particles,
                                   std::int64_t total);

/// A field of the root on the first rank; empty elsewhere. Collective.
std::vector<float> gathered_field(const Hierarchy& hierarchy, std::size_t field);
/// Brings cells of the root to the boxes of all ranks: each rank has those of its entry of `shares` in the order of the
/// file, `own` field after field. Collective.
void deal_cells(const Hierarchy& hierarchy, const std::vector<Share>& shares, const std::vector<float>& own,
                Piece& piece);

}  // namespace sidestream::bench
