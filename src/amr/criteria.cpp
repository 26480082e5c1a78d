#include "sidestream/amr/criteria.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/symmetric.hpp"

namespace sidestream::amr {

namespace {

using mesh::Int3;
using View = core::View4<const double>;

mesh::Box hull(const mesh::Box& a, const mesh::Box& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  return {{std::min(a.lo.x, b.lo.x), std::min(a.lo.y, b.lo.y), std::min(a.lo.z, b.lo.z)},
          {std::max(a.hi.x, b.hi.x), std::max(a.hi.y, b.hi.y), std::max(a.hi.z, b.hi.z)}};
}

/// `verdict(cell)` says whether a cell wants to be smaller and whether it may be larger.
struct Verdict {
  bool refine, coarsen;
};
template <typename F>
Tags tags_of(const mesh::Box& cells, F verdict) {
  Tags tags;
  core::for_each_cell(cells, [&](int k, int j, int i) {
    const Int3 cell{i, j, k};
    const Verdict of_cell = verdict(cell);
    tags.coarsen = tags.coarsen && of_cell.coarsen;
    if (of_cell.refine) tags.tagged = hull(tags.tagged, {cell, cell + Int3{1, 1, 1}});
  });
  tags.refine = !tags.tagged.is_empty();
  return tags;
}

/// A criterion that looks at each of its fields by itself: `verdict_in(block)` is a function of field and cell.
template <typename F>
Criterion of_each_field(std::string name, std::vector<std::string> fields, std::int32_t ghost, F verdict_in) {
  Criterion criterion{std::move(name), std::move(fields), ghost, Criterion{}.max_level, {}};
  criterion.judge = [names = criterion.fields, verdict_in](const BlockData& block) {
    Tags tags;
    const auto verdict = verdict_in(block);
    for (const std::string& field : names) {
      const View u = block.field(field);
      tags += tags_of(block.cells, [&](Int3 cell) { return verdict(u, cell); });
    }
    return tags;
  };
  return criterion;
}

bool is_active(const mesh::Geometry& geometry, int axis) {
  return geometry.domain.hi[axis] - geometry.domain.lo[axis] > 1;
}

Int3 along(int axis, std::int32_t cells) {
  Int3 step;
  step[axis] = cells;
  return step;
}

double at(View u, Int3 cell) {
  return u(cell.z, cell.y, cell.x);
}

/// A second derivative (times four cell sizes) and what it is compared with.
struct Curvature {
  double derivative = 0.0, scale = 0.0;
};

Curvature curvature_along(View u, Int3 cell, int axis) {
  const double below = at(u, cell - along(axis, 2)), here = at(u, cell), above = at(u, cell + along(axis, 2));
  const double ripples = (std::fabs(above) + std::fabs(below)) + 2.0 * std::fabs(here);
  return {(above + below) - 2.0 * here, (std::fabs(above - here) + std::fabs(here - below)) + loehner_filter * ripples};
}

/// d^2u / dp dq; `scales` for the first derivatives along p and along q.
struct MixedCurvature {
  double derivative, scale_p, scale_q;
};
MixedCurvature mixed_curvature(View u, Int3 cell, int p, int q) {
  const double high_high = at(u, cell + along(p, 1) + along(q, 1)), low_low = at(u, cell - along(p, 1) - along(q, 1)),
               high_low = at(u, cell + along(p, 1) - along(q, 1)), low_high = at(u, cell - along(p, 1) + along(q, 1));
  const double ripples =
      loehner_filter * ((std::fabs(high_high) + std::fabs(low_low)) + (std::fabs(high_low) + std::fabs(low_high)));
  return {(high_high + low_low) - (high_low + low_high),
          (std::fabs(high_high - low_high) + std::fabs(high_low - low_low)) + ripples,
          (std::fabs(high_high - high_low) + std::fabs(low_high - low_low)) + ripples};
}

double square(double x) {
  return x * x;
}

/// Smallest over own cell size of each axis, for sums over derivatives: 1 in cubic cells, 0 on flat axes.
std::array<double, 3> axis_weights(const mesh::Geometry& geometry) {
  double smallest = std::numeric_limits<double>::infinity();
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(geometry, axis)) smallest = std::min(smallest, geometry.cell_size(axis));
  std::array<double, 3> weights{};
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(geometry, axis)) weights[static_cast<std::size_t>(axis)] = smallest / geometry.cell_size(axis);
  return weights;
}

double weighted_loehner_error(View u, Int3 cell, const std::array<double, 3>& weight) {
  std::array<double, 3> above{}, below{}, mixed_above{}, mixed_below{};
  for (int p = 0; p < 3; ++p) {
    const auto a = static_cast<std::size_t>(p);
    const int q = (p + 1) % 3;
    const auto b = static_cast<std::size_t>(q);
    if (weight[a] == 0.0) continue;
    const auto [derivative, scale] = curvature_along(u, cell, p);
    above[a] = square(weight[a] * weight[a] * derivative);
    below[a] = square(weight[a] * weight[a] * scale);
    if (weight[b] == 0.0) continue;
    const MixedCurvature mixed = mixed_curvature(u, cell, p, q);
    const double both = weight[a] * weight[b];
    mixed_above[a] = 2.0 * square(both * mixed.derivative);
    mixed_below[a] = square(both * mixed.scale_p) + square(both * mixed.scale_q);
  }
  const auto sum = [](const std::array<double, 3>& terms) { return core::symmetric_sum(terms[0], terms[1], terms[2]); };
  const double scale = sum(below) + sum(mixed_below);
  return scale > 0.0 ? std::sqrt((sum(above) + sum(mixed_above)) / scale) : 0.0;
}

/// Distance along one axis from `x` to the interval [lo, hi] or the nearest of its images.
double distance(double x, double lo, double hi, double length, bool is_periodic) {
  const auto from = [=](double shift) { return std::max({0.0, (lo + shift) - x, x - (hi + shift)}); };
  return is_periodic ? std::min({from(-length), from(0.0), from(length)}) : from(0.0);
}

/// `meets(lower, upper, axis)` of each axis that counts, for the sides of a cell.
template <typename F>
bool on_all_axes(const mesh::Geometry& geometry, Int3 cell, F meets) {
  for (int axis = 0; axis < 3; ++axis) {
    const double size = geometry.cell_size(axis);
    if (is_active(geometry, axis) && !meets(axis, cell[axis] * size, (cell[axis] + 1) * size)) return false;
  }
  return true;
}

bool meets(const BoxRegion& box, const mesh::Geometry& geometry, Int3 cell) {
  return on_all_axes(geometry, cell, [&](int axis, double lo, double hi) {
    const auto a = static_cast<std::size_t>(axis);
    const auto overlaps = [&](double shift) { return lo + shift < box.upper[a] && box.lower[a] < hi + shift; };
    const double length = geometry.length[a];
    return overlaps(0.0) || (geometry.periodic[a] && (overlaps(length) || overlaps(-length)));
  });
}

bool meets(const SphereRegion& sphere, const mesh::Geometry& geometry, Int3 cell) {
  std::array<double, 3> squares{};
  on_all_axes(geometry, cell, [&](int axis, double lo, double hi) {
    const auto a = static_cast<std::size_t>(axis);
    squares[a] = square(distance(sphere.center[a], lo, hi, geometry.length[a], geometry.periodic[a]));
    return true;
  });
  return core::symmetric_sum(squares[0], squares[1], squares[2]) < square(sphere.radius);
}

template <typename Region>
Criterion region_of(const Region& where, int max_level) {
  Criterion criterion{"region", {}, 0, max_level, {}};
  criterion.judge = [where](const BlockData& block) {
    return tags_of(block.cells, [&](Int3 cell) {
      const bool is_inside = meets(where, block.geometry, cell);
      return Verdict{is_inside, !is_inside};
    });
  };
  return criterion;
}

double largest_cell_size(const mesh::Geometry& geometry) {
  double size = 0.0;
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(geometry, axis)) size = std::max(size, geometry.cell_size(axis));
  return size;
}

}  // namespace

Tags& Tags::operator+=(const Tags& other) {
  refine = refine || other.refine;
  coarsen = coarsen && other.coarsen;
  tagged = hull(tagged, other.tagged);
  return *this;
}

View BlockData::field(const std::string& name) const {
  const auto found = fields.find(name);
  if (found == fields.end())
    throw core::Error("a refinement criterion needs the field `" + name + "`, which is not there");
  return found->second;
}

Tags judged(const Criterion& criterion, const BlockData& block) {
  if (block.level > criterion.max_level) return {};
  Tags tags = criterion.judge(block);
  if (block.level == criterion.max_level) tags.refine = false;
  return tags;
}

Tags judged(const std::vector<Criterion>& criteria, const BlockData& block) {
  Tags tags;
  for (const Criterion& criterion : criteria) tags += judged(criterion, block);
  return tags;
}

std::vector<std::string> fields_of(const std::vector<Criterion>& criteria) {
  std::vector<std::string> all;
  for (const Criterion& criterion : criteria)
    for (const std::string& field : criterion.fields)
      if (std::ranges::find(all, field) == all.end()) all.push_back(field);
  return all;
}

std::int32_t ghost_of(const std::vector<Criterion>& criteria) {
  std::int32_t widest = 0;
  for (const Criterion& criterion : criteria) widest = std::max(widest, criterion.ghost);
  return widest;
}

Criterion loehner(std::vector<std::string> fields, Limits limits) {
  return of_each_field("loehner", std::move(fields), 2, [limits](const BlockData& block) {
    return [limits, weights = axis_weights(block.geometry)](View u, Int3 cell) {
      const double error = weighted_loehner_error(u, cell, weights);
      return Verdict{error > limits.refine_above, error < limits.coarsen_below};
    };
  });
}

Criterion gradient(std::vector<std::string> fields, Limits limits) {
  return of_each_field("gradient", std::move(fields), 1, [limits](const BlockData& block) {
    return [limits, &geometry = block.geometry](View u, Int3 cell) {
      double jump = 0.0;
      for (int axis = 0; axis < 3; ++axis)
        if (is_active(geometry, axis))
          jump = std::max(jump, std::fabs(at(u, cell + along(axis, 1)) - at(u, cell - along(axis, 1))));
      const double size = std::fabs(at(u, cell));
      return Verdict{jump > limits.refine_above * size, jump == 0.0 || jump < limits.coarsen_below * size};
    };
  });
}

Criterion threshold(std::vector<std::string> fields, Limits limits, double level_factor) {
  return of_each_field("threshold", std::move(fields), 0, [limits, level_factor](const BlockData& block) {
    const double factor = std::pow(level_factor, block.level);
    const Limits here{limits.refine_above * factor, limits.coarsen_below * (factor / level_factor)};
    return [here](View u, Int3 cell) {
      return Verdict{at(u, cell) > here.refine_above, at(u, cell) < here.coarsen_below};
    };
  });
}

Criterion jeans(std::string density, std::string pressure, double refine_below, double coarsen_above) {
  Criterion criterion{"jeans", {density, pressure}, 0, Criterion{}.max_level, {}};
  criterion.judge = [density, pressure, refine_below, coarsen_above](const BlockData& block) {
    const View rho = block.field(density), p = block.field(pressure);
    const double size = largest_cell_size(block.geometry);
    // (Jeans length over cell size)^2 = factor p / rho^2
    const double factor = square(2.0 * M_PI / size) * block.gamma / block.four_pi_g;
    return tags_of(block.cells, [&](Int3 cell) {
      const double squared_cells = factor * at(p, cell) / square(at(rho, cell));
      return Verdict{squared_cells<square(refine_below), squared_cells> square(2.0 * coarsen_above)};
    });
  };
  return criterion;
}

Criterion region(const BoxRegion& box, int max_level) {
  return region_of(box, max_level);
}
Criterion region(const SphereRegion& sphere, int max_level) {
  return region_of(sphere, max_level);
}

double loehner_error(View u, Int3 cell, const mesh::Geometry& geometry) {
  return weighted_loehner_error(u, cell, axis_weights(geometry));
}

}  // namespace sidestream::amr
