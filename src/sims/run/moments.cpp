#include "sims/run/moments.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace sidestream::sims {

// A time that is that of a redshift but for rounding is left out, so that no step is next to nothing.
Moments::Moments(const couple::Landings& landings, const solvers::Background& background, double last)
    : redshifts_(landings.redshifts) {
  std::erase_if(redshifts_, [&](double z) { return z < last; });
  redshifts_.push_back(last);
  const double end = background.time(solvers::scale_factor(last));
  for (const double time : landings.times) {
    if (!(time > 0.0 && time < end)) continue;
    const double wanted = solvers::redshift(background.scale_factor_at(time));
    if (std::ranges::none_of(redshifts_, [&](double z) { return std::abs(z - wanted) <= 1e-9 * (1.0 + wanted); }))
      redshifts_.push_back(wanted);
  }
  std::ranges::sort(redshifts_, std::greater{});
}

double Moments::next(double redshift) const {
  const auto found = std::ranges::find_if(redshifts_, [&](double z) { return z < redshift; });
  return found == redshifts_.end() ? redshifts_.back() : *found;
}

}  // namespace sidestream::sims
