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

// `160` and not `1.6e+02`.
std::string plain(double value, int digits) {
  const bool is_long = std::abs(value) >= 100.0 && std::abs(value) < 1e6;
  return is_long ? fmt::format("{:.0f}", value) : fmt::format("{:.{}g}", value, digits);
}

// A threshold as the task takes it.
std::string threshold(double value, const FieldScale& scale) {
  constexpr int digits = 2;
  if (scale.deviation) return fmt::format("\"{} sigma\"", plain((value - scale.mean) / *scale.deviation, digits));
  if (scale.mean > 0.0) return fmt::format("\"{} mean\"", plain(value / scale.mean, digits));
  return fmt::format("\"{:.{}g}\"", value, digits);
}

std::string level(double value, const FieldScale& scale) {
  constexpr int digits = 3;
  if (scale.deviation)
    return fmt::format("{:.{}g}, {} standard deviations above the mean", value, digits,
                       plain((value - scale.mean) / *scale.deviation, digits));
  return scale.mean > 0.0 ? fmt::format("{} times the mean", plain(value / scale.mean, digits))
                          : fmt::format("{:.{}g}", value, digits);
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
  const double peak = zero + below_highest * (highest - zero);
  const double boundary = std::max(zero + below_peak * (peak - zero), scale.mean);  // halos are denser than the mean
  std::string keys = "t_halo = " + threshold(peak, scale);
  if (criteria.t_boundary > boundary) keys += ", t_boundary = " + threshold(boundary, scale);
  if (criteria.min_cells > 1) keys += ", min_cells = 1";
  return fmt::format("{}; {} would find some", below, keys);
}

std::string why_no_groups(double linking_length, std::int64_t largest, std::int64_t min_particles,
                          std::int64_t min_cells) {
  const std::string groups = fmt::format(
      "no halos: the largest group of particles linked within {:.3g} of their mean separation (linking_length) has {}",
      linking_length, largest);
  return largest >= min_particles ? fmt::format("{}, in fewer cells than min_cells = {}", groups, min_cells)
                                  : fmt::format("{}, min_particles is {}", groups, min_particles);
}

}  // namespace sidestream::analysis
