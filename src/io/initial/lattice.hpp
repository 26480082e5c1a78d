#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/initial/share.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// Which axis of the fields of a file is the slowest.
enum class SlowestAxis { x, z };

/// A lattice over the whole box on which a file has its fields, one slab across the slowest axis after the other. The
/// points are in the middle of its cells.
struct Lattice {
  mesh::Int3 points;
  std::array<double, 3> box_mpc{};
  SlowestAxis slowest = SlowestAxis::z;

  std::int64_t slabs() const { return slowest == SlowestAxis::z ? points.z : points.x; }
  std::int64_t points_of_slab() const { return points.product() / slabs(); }
};

/// One field of a file: the numbers of a slab, as they stand there.
using Slab = std::function<std::vector<double>(std::int64_t slab)>;

/// Throws core::Error unless every axis of a lattice has a possible number of points.
void check_lattice(const Lattice& lattice, const std::string& path);

/// Parcels at the points of a rank's slabs, at rest, each of the same part of the mass of all; the id is that of the
/// point, x fastest. Those of gas have internal energies, which are zero.
mesh::Particles parcels_on(const Lattice& lattice, const Share& slabs, bool is_gas);

/// value[n] of each parcel `n` of these slabs <- change(value[n], number of the field there).
void change_by(const Slab& field, const Lattice& lattice, const Share& slabs, std::vector<double>& values,
               const std::function<double(double value, double number)>& change);

}  // namespace sidestream::io
