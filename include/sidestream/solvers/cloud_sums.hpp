#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::solvers {

/// What particles carry, brought to a mesh by cloud-in-cell weights and divided by the volume of a cell: one component
/// for each of `amounts`, which hold a number of any sign for each particle of this rank. Added up as 64-bit integers
/// in units of 2^-(61 - bits of the number of particles) of the largest amount, so that the fields are bitwise the same
/// for any order of the particles and any ranks, whatever cell they are in. The particles are where
/// `redistribute::migrate` takes them on `layout`, which covers the periodic domain once. Collective on `comm`. For
/// beginnings: `ParticleMesh` is the quick way for mass in each step.
mesh::Field<double> cloud_sums(const comm::Communicator& comm, const mesh::Layout& layout,
                               const mesh::Geometry& geometry, const mesh::Particles& particles,
                               std::span<const std::span<const double>> amounts);

/// Which cells `cloud_sums` would give more than nothing, of amounts that are not negative: one bit a cell, for
/// particles that come in pieces, wherever in or near the periodic domain they are. Local.
class CloudCover {
 public:
  /// `largest`: the largest of the amounts of all `count` particles.
  CloudCover(const mesh::Geometry& geometry, double largest, std::int64_t count);

  void add(const mesh::Particles& particles, std::span<const double> amounts);
  std::int64_t empty_cells() const;

 private:
  mesh::Geometry geometry_;
  double scale_;
  std::vector<bool> is_covered_;
};

}  // namespace sidestream::solvers
