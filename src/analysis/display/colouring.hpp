#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "analysis/display/colour_map.hpp"
#include "sidestream/core/math.hpp"

namespace sidestream::analysis {

enum class Scale { linear, log };

/// The values of the lowest and the highest colour; NaN while there are none.
struct Limits {
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();

  bool are_known() const { return low <= high; }
  /// These and `value`, which is no NaN.
  void take(double value) {
    if (!(value >= low)) low = value;
    if (!(value <= high)) high = value;
  }
};

/// What a cell of a picture is, before its colour: no NaN, and above 0 where the scale is logarithmic.
inline bool has_colour(double value, Scale scale) {
  return scale == Scale::linear ? !std::isnan(value) : value > 0.0;
}

/// From values to pixels as matplotlib has it (`Normalize` or `LogNorm`, then the colour map): the first and the last
/// colour beyond the limits, transparent black for what has no colour, the first colour where both limits are equal.
class Colouring {
 public:
  Colouring(ColourMap colours, Limits limits, Scale scale)
      : colours_(std::move(colours)),
        scale_(scale),
        low_(scaled(limits.low)),
        width_(scaled(limits.high) - low_),
        count_(static_cast<double>(colours_.size())) {}

  std::int32_t pixel(double value) const {
    if (!has_colour(value, scale_)) return 0;
    double place = width_ == 0.0 ? 0.0 : (scaled(value) - low_) / width_ * count_;
    place = place > 0.0 ? place : 0.0;
    const std::size_t last = colours_.size() - 1;
    return static_cast<std::int32_t>(colours_[place < count_ ? static_cast<std::size_t>(place) : last]);
  }

 private:
  double scaled(double value) const { return scale_ == Scale::linear ? value : core::log10(value); }

  ColourMap colours_;
  Scale scale_;
  double low_, width_, count_;
};

}  // namespace sidestream::analysis
