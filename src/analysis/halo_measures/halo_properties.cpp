#include "analysis/halo_measures/halo_properties.hpp"

#include <cmath>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

double on_axis(const HaloFrame& frame, std::size_t axis, double position) {
  return frame.root().periodic[axis] ? mesh::wrapped_coordinate(position, frame.root().length[axis]) : position;
}

void place(Halo& halo, const HaloPart& part, const Body& body, const HaloFrame& frame) {
  const Int3 corner = frame.cell_of(part.extent.peak.cell), bits = frame.bits(frame.level_of(corner));
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const double size = frame.finest().cell_size(axis), start = corner[axis] * size;
    const double middle = static_cast<double>(part.extent.middle[a]) / (2.0 * static_cast<double>(part.extent.volume));
    halo.peak_position[a] = (corner[axis] + 0.5 * (1 << bits[axis])) * size;
    halo.centroid[a] = on_axis(frame, a, start + middle * size);
    halo.center[a] = body.mass == 0.0 ? halo.centroid[a] : on_axis(frame, a, start + body.center[a]);
    const std::int32_t n = frame.finest().domain.extent()[axis];
    const bool spans =
        frame.root().periodic[a] && n > 1 && 2 * (std::int64_t{part.extent.high[axis]} - part.extent.low[axis]) >= n;
    halo.spans_box = halo.spans_box || spans;
  }
}

void set_motion(Halo& halo, const Motion& motion, double scale_factor) {
  halo.moving_mass = motion.mass;
  halo.velocity = motion.velocity;
  halo.velocity_dispersion = motion.dispersion;
  double square = 0.0;
  for (std::size_t a = 0; a < 3; ++a) {
    halo.angular_momentum[a] = scale_factor * motion.angular_momentum[a];
    square += halo.angular_momentum[a] * halo.angular_momentum[a];
  }
  if (!(motion.mass > 0.0 && halo.mass > 0.0)) return;
  const double radius = scale_factor * core::cbrt(0.75 * std::numbers::inv_pi * halo.volume);
  const double circular = std::sqrt(core::units::gravitational_constant * halo.mass / radius);
  halo.spin = std::sqrt(square) / motion.mass / (std::numbers::sqrt2 * circular * radius);
}

}  // namespace

void check(const HaloMeasures& measures, const LeafField& field) {
  core::require(measures.sphere_densities.size() <= HaloMeasures::most_spheres, "too many spheres around each halo");
  for (const double density : measures.sphere_densities)
    core::require(density > 0.0 && std::isfinite(density), "the mean density of a sphere is a positive number");
  for (const LeafField& velocity : measures.velocity)
    core::require(velocity.size() == measures.moving_density.size(),
                  "velocities of halos take a density and three components");
  core::require(measures.moving_density.empty() || measures.moving_density.size() == field.size(),
                "velocities of halos lie on the levels of the field");
  core::require(measures.scale_factor > 0.0, "the scale factor is a positive number");
}

Halo halo_of(const HaloPart& part, const HaloFrame& frame, double scale_factor) {
  const Body body = body_of(part.matter);
  Halo halo;
  halo.id = part.extent.peak.cell;
  halo.peak = part.extent.peak.value;
  halo.cells = part.extent.cells;
  halo.volume = static_cast<double>(part.extent.volume) * frame.finest().cell_volume();
  halo.mass = body.mass * frame.root().cell_volume();
  halo.axes = body.axes;
  place(halo, part, body, frame);
  halo.particles = part.extent.particles;
  halo.particle_mass = part.particle_mass.value();
  set_motion(halo, motion_of(part.motion), scale_factor);
  return halo;
}

}  // namespace sidestream::analysis
