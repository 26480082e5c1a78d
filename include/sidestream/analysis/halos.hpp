#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::analysis {

/// What counts as a halo: a connected component of the cells at or above `t_boundary` whose highest cell is at or above
/// `t_halo`. Cells of two levels are neighbours where the finer one has a neighbour, on its own grid, inside the
/// coarser one.
struct HaloCriteria {
  double t_boundary = 0.0, t_halo = 0.0;  ///< in the unit of the field
  Connectivity connectivity = Connectivity::freudenthal;
  std::int64_t min_cells = 1;
};

/// An iso-density halo. Positions are along x, y, z in the unit of the geometry, and wrapped into the domain on
/// periodic axes.
struct Halo {
  /// Linear index (z, y, x order) of the highest cell; of equal ones the smallest index. On a refined mesh in the grid
  /// of the finest level, of the cell at the lowest corner.
  std::int64_t id = 0;
  std::int64_t cells = 0;  ///< leaf cells, of any size
  double mass = 0.0;       ///< sum of density times cell volume
  double peak = 0.0;       ///< density of the highest cell
  std::array<double, 3> peak_position{};
  std::array<double, 3> centroid{};  ///< mean position in its volume, each cell as its image nearest to the peak
  std::array<double, 3> center{};    ///< the same weighted by mass
  bool spans_box = false;            ///< reaches across half of a periodic axis or more, so its centroid is ambiguous

  friend bool operator==(const Halo&, const Halo&) = default;
};

/// All halos of `field`, by descending mass and then ascending id, on rank 0 (empty elsewhere). `geometry` is that of
/// level 0. The same bits for any number of ranks and, on one level, any layout. Collective. Throws core::Error when
/// t_halo is below t_boundary. Values must be finite. Cost: one pass over the field; all else follows the cells above
/// t_boundary and the surfaces of the blocks.
std::vector<Halo> find_halos(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria);
/// The same for a field of one level, which covers the domain.
std::vector<Halo> find_halos(const comm::Communicator& comm, const mesh::Field<double>& field,
                             const mesh::Geometry& geometry, const HaloCriteria& criteria);

/// For each cell the id of the halo it belongs to, or -1: one field a level. Collective.
std::vector<mesh::Field<std::int64_t>> halo_membership(const comm::Communicator& comm, const LeafField& field,
                                                       const HaloCriteria& criteria);

}  // namespace sidestream::analysis
