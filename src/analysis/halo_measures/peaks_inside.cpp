#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/halo_measures/halo_properties.hpp"

#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// The peaks of halos in a grid of buckets, about one in each.
class PeakGrid {
 public:
  PeakGrid(const mesh::Geometry& geometry, std::span<const Halo> halos)
      : geometry_(geometry),
        halos_(halos),
        buckets_(std::max(1, static_cast<std::int32_t>(core::cbrt(static_cast<double>(halos.size()))))),
        in_bucket_(static_cast<std::size_t>(buckets_) * static_cast<std::size_t>(buckets_) *
                   static_cast<std::size_t>(buckets_)) {
    for (std::size_t h = 0; h < halos.size(); ++h) {
      Int3 at;
      for (int axis = 0; axis < 3; ++axis) at[axis] = inside(bucket(axis, position(h, axis)));
      in_bucket_[index(at)].push_back(h);
    }
  }

  // Calls `f(h)` for each peak that is less than `radius` away from that of the halo `center`.
  template <typename F>
  void for_each_within(std::size_t center, double radius, F f) const {
    Int3 low, high;
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = bucket(axis, position(center, axis) - radius);
      high[axis] = bucket(axis, position(center, axis) + radius);
      const bool all = high[axis] - low[axis] >= buckets_;
      if (all || !is_periodic(axis)) {
        low[axis] = all ? 0 : inside(low[axis]);
        high[axis] = all ? buckets_ - 1 : inside(high[axis]);
      }
    }
    Int3 at;
    for (at.z = low.z; at.z <= high.z; ++at.z)
      for (at.y = low.y; at.y <= high.y; ++at.y)
        for (at.x = low.x; at.x <= high.x; ++at.x)
          for (const std::size_t h : in_bucket_[index(wrapped(at))])
            if (distance(center, h) < radius) f(h);
  }

 private:
  bool is_periodic(int axis) const { return geometry_.periodic[static_cast<std::size_t>(axis)]; }
  double length(int axis) const { return geometry_.length[static_cast<std::size_t>(axis)]; }
  double position(std::size_t h, int axis) const { return halos_[h].peak_position[static_cast<std::size_t>(axis)]; }
  std::int32_t bucket(int axis, double at) const {
    return static_cast<std::int32_t>(std::floor(at / length(axis) * buckets_));
  }
  std::int32_t inside(std::int32_t bucket) const { return std::clamp(bucket, 0, buckets_ - 1); }
  Int3 wrapped(Int3 at) const {
    return {mesh::wrapped(at.x, buckets_), mesh::wrapped(at.y, buckets_), mesh::wrapped(at.z, buckets_)};
  }
  std::size_t index(Int3 at) const {
    return static_cast<std::size_t>((std::int64_t{at.z} * buckets_ + at.y) * buckets_ + at.x);
  }
  double distance(std::size_t a, std::size_t b) const {
    double square = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      double d = std::abs(position(a, axis) - position(b, axis));
      if (is_periodic(axis)) d = std::min(d, length(axis) - d);
      square += d * d;
    }
    return std::sqrt(square);
  }

  const mesh::Geometry& geometry_;
  std::span<const Halo> halos_;
  std::int32_t buckets_;
  std::vector<std::vector<std::size_t>> in_bucket_;
};

double largest_radius(const Halo& halo) {
  double radius = 0.0;
  for (const Sphere& sphere : halo.spheres) radius = std::max(radius, sphere.radius);
  return radius;
}

}  // namespace

void mark_inside(const mesh::Geometry& geometry, std::span<Halo> halos) {
  std::vector<std::size_t> order(halos.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto is_before = [&](std::size_t a, std::size_t b) {
    return halos[a].peak != halos[b].peak ? halos[a].peak > halos[b].peak : halos[a].id < halos[b].id;
  };
  std::sort(order.begin(), order.end(), is_before);
  const PeakGrid grid(geometry, halos);
  for (const std::size_t holder : order) {
    const double radius = largest_radius(halos[holder]);
    if (halos[holder].inside >= 0 || radius == 0.0) continue;
    grid.for_each_within(holder, radius, [&](std::size_t h) {
      if (is_before(holder, h) && halos[h].inside < 0) halos[h].inside = halos[holder].id;
    });
  }
}

}  // namespace sidestream::analysis
