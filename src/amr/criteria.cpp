#include "sidestream/amr/criteria.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "amr/loehner_rows.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/math.hpp"
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

/// `verdict(cell)` says whether a cell wants to be smaller, whether it may be larger, and whether it is held.
struct Verdict {
  bool refine, coarsen;
  bool hold = false;
};
template <typename F>
Tags tags_of(const mesh::Box& cells, F verdict) {
  Tags tags;
  core::for_each_cell(cells, [&](int k, int j, int i) {
    const Int3 cell{i, j, k};
    const Verdict of_cell = verdict(cell);
    tags.coarsen = tags.coarsen && of_cell.coarsen;
    const mesh::Box alone{cell, cell + Int3{1, 1, 1}};
    if (of_cell.refine) tags.tagged = hull(tags.tagged, alone);
    if (of_cell.hold) tags.held = hull(tags.held, alone);
  });
  tags.refine = !tags.tagged.is_empty();
  return tags;
}

/// A criterion that looks at each of its fields by itself: `judge(block, field)`.
template <typename F>
Criterion of_each_field(std::string name, std::vector<std::string> fields, std::int32_t ghost, F judge) {
  Criterion criterion{std::move(name), std::move(fields), ghost, Criterion{}.max_level, {}};
  criterion.judge = [names = criterion.fields, judge](const BlockData& block) {
    Tags tags;
    for (const std::string& field : names) tags += judge(block, block.field(field));
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

Stencil stencil_of(View u, Int3 cell, const mesh::Geometry& geometry) {
  Stencil stencil{{}, axis_weights(geometry)};
  for (int axis = 0; axis < 3; ++axis)
    if (is_active(geometry, axis))
      stencil.step[static_cast<std::size_t>(axis)] =
          &u(cell.z + (axis == 2), cell.y + (axis == 1), cell.x + (axis == 0)) - &u(cell.z, cell.y, cell.x);
  return stencil;
}

/// The cells of a row that begins at `first` from the first one whose error is above the limit to the last.
mesh::Box tagged_of_row(Int3 first, std::span<const double> errors, double limit) {
  const auto is_above = [limit](double error) { return error > limit; };
  const auto begin = std::ranges::find_if(errors, is_above),
             end = std::find_if(errors.rbegin(), errors.rend(), is_above).base();
  if (begin == errors.end()) return {};
  return {first + along(0, static_cast<std::int32_t>(begin - errors.begin())),
          first + Int3{static_cast<std::int32_t>(end - errors.begin()), 1, 1}};
}

/// What the errors of `cells` say, row behind row. Most blocks want nothing: only the others are looked at row by row.
Tags tags_of_errors(const mesh::Box& cells, std::span<const double> errors, const Limits& limits) {
  int above = 0, below = 0;
  for (const double error : errors) {
    above += static_cast<int>(error > limits.refine_above);
    below += static_cast<int>(error < limits.coarsen_below);
  }
  Tags tags;
  tags.refine = above > 0;
  tags.coarsen = below == static_cast<int>(errors.size());
  const auto width = static_cast<std::size_t>(cells.extent().x);
  std::size_t row = 0;
  if (tags.refine)
    core::for_each_row(cells, [&](int k, int j) {
      tags.tagged =
          hull(tags.tagged, tagged_of_row({cells.lo.x, j, k}, errors.subspan(row, width), limits.refine_above));
      row += width;
    });
  return tags;
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
    Tags tags = tags_of(block.cells, [&](Int3 cell) {
      const bool is_inside = meets(where, block.geometry, cell);
      return Verdict{is_inside, !is_inside};
    });
    tags.tagged = {};  // what stays where it is needs no buffer
    return tags;
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
  held = hull(held, other.held);
  return *this;
}

View BlockData::field(const std::string& name) const {
  const auto found = fields.find(name);
  if (found == fields.end())
    throw core::Error("a refinement criterion needs the field `" + name + "`, which is not there", "",
                      "name a field that the simulation has: `sidestream list quantities`");
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
  return of_each_field("loehner", std::move(fields), 2, [limits](const BlockData& block, View u) {
    const mesh::Box& cells = block.cells;
    const Stencil stencil = stencil_of(u, cells.lo, block.geometry);
    const bool is_flat_z = !is_active(block.geometry, 2);
    const auto width = static_cast<std::size_t>(cells.extent().x);
    std::vector<double> errors(static_cast<std::size_t>(cells.volume()));
    std::size_t row = 0;
    core::for_each_row(cells, [&](int k, int j) {
      loehner_errors(&u(k, j, cells.lo.x), stencil, is_flat_z, std::span(errors).subspan(row, width));
      row += width;
    });
    return tags_of_errors(cells, errors, limits);
  });
}

Criterion gradient(std::vector<std::string> fields, Limits limits) {
  return of_each_field("gradient", std::move(fields), 1, [limits](const BlockData& block, View u) {
    return tags_of(block.cells, [=, &geometry = block.geometry](Int3 cell) {
      double jump = 0.0;
      for (int axis = 0; axis < 3; ++axis)
        if (is_active(geometry, axis))
          jump = std::max(jump, std::fabs(at(u, cell + along(axis, 1)) - at(u, cell - along(axis, 1))));
      const double size = std::fabs(at(u, cell));
      return Verdict{jump > limits.refine_above * size, jump == 0.0 || jump < limits.coarsen_below * size};
    });
  });
}

Criterion threshold(std::vector<std::string> fields, Limits limits, double level_factor) {
  return of_each_field("threshold", std::move(fields), 0, [limits, level_factor](const BlockData& block, View u) {
    const double factor = core::pow(level_factor, block.level);
    const Limits here{limits.refine_above * factor, limits.coarsen_below * (factor / level_factor)};
    const double of_parent = limits.refine_above * (factor / level_factor);
    return tags_of(block.cells, [=](Int3 cell) {
      return Verdict{at(u, cell) > here.refine_above, at(u, cell) < here.coarsen_below, at(u, cell) > of_parent};
    });
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
      return Verdict{squared_cells<square(refine_below), squared_cells> square(2.0 * coarsen_above),
                     squared_cells < square(2.0 * refine_below)};
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
  double error = 0.0;
  loehner_errors(&u(cell.z, cell.y, cell.x), stencil_of(u, cell, geometry), false, {&error, 1});
  return error;
}

}  // namespace sidestream::amr
