#include "analysis/halos/halo_order.hpp"

#include <algorithm>
#include <utility>

#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/links/ordered_rows.hpp"

namespace sidestream::analysis {

namespace {

using Key = std::pair<double, std::int64_t>;

Key by_mass(const Halo& halo) {
  return {-halo.mass, halo.id};
}

Key by_height(const Halo& halo) {
  return {halo.peak_position[2], halo.id};
}

}  // namespace

FoundHalos catalogue_of(const comm::Communicator& comm, const mesh::Geometry& geometry, std::vector<Halo> mine,
                        std::int64_t most_bytes_on_a_rank) {
  FoundHalos found;
  const std::int64_t bytes = comm.sum(static_cast<std::int64_t>(mine.size() * sizeof(Halo)));
  found.is_spread = bytes > most_bytes_on_a_rank;
  if (found.is_spread) {
    mine = ordered_rows(comm, std::move(mine), by_height, by_height);
    mark_inside(comm, geometry, mine);
    found.halos = ordered_rows(comm, std::move(mine), by_mass, by_mass);
    return found;
  }
  found.halos = comm.gather(std::span<const Halo>(mine));
  std::sort(found.halos.begin(), found.halos.end(),
            [](const Halo& a, const Halo& b) { return by_mass(a) < by_mass(b); });
  mark_inside(geometry, found.halos);
  return found;
}

std::vector<Halo> all_halos(const comm::Communicator& comm, FoundHalos found) {
  if (found.is_spread) return comm.gather(std::span<const Halo>(found.halos));
  return std::move(found.halos);
}

}  // namespace sidestream::analysis
