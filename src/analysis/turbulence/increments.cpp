#include "analysis/turbulence/increments.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/at.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::analysis {

namespace {

// Whole lines along the axis, in pencils for as many ranks as there are lines.
mesh::Layout lines_along(const mesh::Box& domain, int axis, int ranks) {
  const int slow = axis == 2 ? 1 : 2, other = 3 - axis - slow;
  const mesh::Int3 cells = domain.extent();
  mesh::Int3 parts{1, 1, 1};
  parts[slow] = std::min(ranks, cells[slow]);
  parts[other] = std::min(ranks / parts[slow], cells[other]);
  return split(domain, parts);
}

// Calls `f(u(x + r) - u(x))` for each cell of periodic lines along the axis.
template <typename F>
void for_each_increment(const mesh::Field<double>& lines, int axis, std::int32_t separation, F f) {
  for (int b = 0; b < lines.blocks(); ++b) {
    const mesh::Box& box = lines.box(b);
    core::for_each_cell(box, [&, view = lines.view(b), cells = box.extent()[axis]](int k, int j, int i) {
      mesh::Int3 ahead{i, j, k};
      ahead[axis] += separation;
      if (ahead[axis] >= box.hi[axis]) ahead[axis] -= cells;
      f(view(ahead.z, ahead.y, ahead.x) - view(k, j, i));
    });
  }
}

}  // namespace

IncrementCounter::IncrementCounter(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity,
                                   IncrementOptions options)
    : comm_(comm),
      velocity_(velocity),
      options_(std::move(options)),
      longitudinal_(options_.separations.size(), DeviationCounts(options_.bins)),
      transverse_(longitudinal_) {}

IncrementCounter::Means IncrementCounter::measure(const mesh::Field<double>& lines, int axis,
                                                  std::vector<DeviationCounts>& counts) const {
  Means means;
  for (std::size_t n = 0; n < options_.separations.size(); ++n) {
    const std::int32_t separation = options_.separations[n];
    PowerSums sums(options_.highest_order);
    for_each_increment(lines, axis, separation, [&](double increment) { sums.add(increment); });
    means.push_back(sums.means(comm_));
    const double variance = means.back()[1];
    if (options_.bins.count == 0 || !(variance > 0.0)) continue;
    const double deviation = std::sqrt(variance);
    for_each_increment(lines, axis, separation, [&](double increment) { counts[n].add(increment / deviation); });
  }
  return means;
}

Increments IncrementCounter::along(int axis) {
  const mesh::Layout layout = lines_along(velocity_[0].layout().domain(), axis, comm_.size());
  const redistribute::Redistribution plan(comm_, velocity_[0].layout(), layout);
  Increments result;
  for (int component = 0; component < 3; ++component) {
    mesh::Field<double> lines(layout, comm_.rank());
    plan.apply(velocity_[at(component)], lines);
    const bool is_along = component == axis;
    Means means = measure(lines, axis, is_along ? longitudinal_ : transverse_);
    if (is_along) {
      result.longitudinal = std::move(means);
    } else if (result.transverse.empty()) {
      result.transverse = std::move(means);
    } else {
      for (std::size_t n = 0; n < means.size(); ++n)
        for (std::size_t p = 0; p < means[n].size(); ++p)
          result.transverse[n][p] = 0.5 * (result.transverse[n][p] + means[n][p]);
    }
  }
  return result;
}

IncrementDensities IncrementCounter::densities() const {
  IncrementDensities all;
  for (const DeviationCounts& counts : longitudinal_) all.longitudinal.push_back(counts.density(comm_));
  for (const DeviationCounts& counts : transverse_) all.transverse.push_back(counts.density(comm_));
  return all;
}

}  // namespace sidestream::analysis
