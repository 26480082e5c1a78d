#include "analysis/halos/none_found.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

constexpr double least_contrast = 2.0;  // of the highest cell to the mean, below which nothing stands out
constexpr double below_highest = 0.9;   // a peak that is asked for, over the highest cell
constexpr double below_peak = 0.5;      // a boundary, over that peak

double highest_cell(const comm::Communicator& comm, const LeafField& field) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const ScalarView& level : field)
    for (int b = 0; b < level.blocks(); ++b)
      core::for_each_cell(level.box(b), [&, cells = level.view(b)](int k, int j, int i) {
        highest = std::max(highest, cells(k, j, i));
      });
  return comm.max(highest);
}

// A threshold as the task takes it.
std::string threshold(double value, const FieldScale& scale) {
  if (scale.deviation) return fmt::format("\"{:.2g} sigma\"", (value - scale.mean) / *scale.deviation);
  return scale.mean > 0.0 ? fmt::format("\"{:.2g} mean\"", value / scale.mean) : fmt::format("\"{:.2g}\"", value);
}

std::string level(double value, const FieldScale& scale) {
  if (scale.deviation)
    return fmt::format("{:.3g}, {:.3g} standard deviations above the mean", value,
                       (value - scale.mean) / *scale.deviation);
  return scale.mean > 0.0 ? fmt::format("{:.3g} times the mean", value / scale.mean) : fmt::format("{:.3g}", value);
}

// Whether the highest cell stands out enough for a threshold below it to mean something.
bool stands_out(double highest, const FieldScale& scale) {
  return scale.deviation ? highest > scale.mean : highest > 0.0 && highest >= least_contrast * scale.mean;
}

}  // namespace

std::string why_none(const comm::Communicator& comm, const LeafField& density, const std::string& name,
                     const FieldScale& scale, const HaloCriteria& criteria) {
  const double highest = highest_cell(comm, density);
  if (scale.mean == 0.0 && highest == 0.0) return fmt::format("no halos: `{}` is zero everywhere", name);
  if (scale.deviation == 0.0) return fmt::format("no halos: `{}` is {:.3g} everywhere", name, highest);
  const std::string reaches = fmt::format("no halos: `{}` reaches {}", name, level(highest, scale));
  if (highest >= criteria.t_halo)
    return fmt::format("{}, in a region of less than min_cells = {}", reaches, criteria.min_cells);
  const std::string below = fmt::format("{}, t_halo is {}", reaches, level(criteria.t_halo, scale));
  if (!stands_out(highest, scale)) return below;
  const double zero = scale.deviation ? scale.mean : 0.0;  // of the scale
  const double peak = zero + below_highest * (highest - zero), boundary = zero + below_peak * (peak - zero);
  std::string keys = "t_halo = " + threshold(peak, scale);
  if (criteria.t_boundary > boundary) keys += ", t_boundary = " + threshold(boundary, scale);
  if (criteria.min_cells > 1) keys += ", min_cells = 1";
  return fmt::format("{}; {} would find some", below, keys);
}

}  // namespace sidestream::analysis
