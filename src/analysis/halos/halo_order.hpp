#pragma once

#include <cstdint>
#include <vector>

#include "analysis/links/members.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// A catalogue, by descending mass and then ascending id.
struct FoundHalos {
  std::vector<Halo> halos;  ///< on rank 0; where they are spread, those of rank 0, then those of rank 1, and so on
  Members members;          ///< of this rank
  bool is_spread = false;
  std::int64_t largest_group = 0;  ///< of particles, whether it is a halo or not
};

/// Catalogues of more bytes than this are spread over all ranks.
constexpr std::int64_t most_halo_bytes_on_a_rank = std::int64_t{256} << 20;

/// The catalogue of the halos that each rank has, marked by which lie inside others: the same for any number of ranks.
/// Collective.
FoundHalos catalogue_of(const comm::Communicator& comm, const mesh::Geometry& geometry, std::vector<Halo> mine,
                        std::int64_t most_bytes_on_a_rank = most_halo_bytes_on_a_rank);

/// All halos on rank 0, spread or not. Collective.
std::vector<Halo> all_halos(const comm::Communicator& comm, FoundHalos found);

}  // namespace sidestream::analysis
