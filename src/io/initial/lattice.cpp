#include "io/initial/lattice.hpp"

#include <fmt/format.h>

#include "io/initial/initial_particles.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

void check_lattice(const Lattice& lattice, const std::string& path) {
  constexpr std::int32_t most = 1 << 20;
  for (int axis = 0; axis < 3; ++axis)
    if (lattice.points[axis] < 1 || lattice.points[axis] > most)
      throw core::Error(fmt::format("the lattice has {} points along {}", lattice.points[axis], "xyz"[axis]), path,
                        "the file is damaged");
}

mesh::Particles parcels_on(const Lattice& lattice, const Share& slabs, bool is_gas) {
  const mesh::Int3 points = lattice.points;
  const std::int64_t in_slab = lattice.points_of_slab();
  mesh::Particles parcels = empty_initial_particles(static_cast<std::size_t>(slabs.count * in_slab), is_gas);
  const double part = 1.0 / static_cast<double>(points.product());
  const std::int32_t fast = lattice.slowest == SlowestAxis::z ? points.x : points.z;
  for (std::size_t n = 0; n < parcels.size(); ++n) {
    const auto number = static_cast<std::int64_t>(n);
    const std::int64_t slab = slabs.first + number / in_slab, row = number % in_slab / fast, place = number % fast;
    const std::array<std::int64_t, 3> index =
        lattice.slowest == SlowestAxis::z ? std::array{place, row, slab} : std::array{slab, row, place};
    parcels.id[n] = index[0] + points.x * (index[1] + points.y * index[2]);
    for (std::size_t axis = 0; axis < 3; ++axis)
      parcels.position[axis][n] =
          (static_cast<double>(index[axis]) + 0.5) * (lattice.box_mpc[axis] / points[static_cast<int>(axis)]);
    parcels.attributes[3].values[n] = part;
  }
  return parcels;
}

void change_by(const Slab& field, const Lattice& lattice, const Share& slabs, std::vector<double>& values,
               const std::function<double(double value, double number)>& change) {
  const auto in_slab = static_cast<std::size_t>(lattice.points_of_slab());
  for (std::int64_t slab = 0; slab < slabs.count; ++slab) {
    const std::vector<double> numbers = field(slabs.first + slab);
    core::require(numbers.size() == in_slab, "a slab has a number for each of its points");
    double* const value = values.data() + static_cast<std::size_t>(slab) * in_slab;
    for (std::size_t n = 0; n < in_slab; ++n) value[n] = change(value[n], numbers[n]);
  }
}

}  // namespace sidestream::io
