#include "sims/run/moments.hpp"

#include <algorithm>

namespace sidestream::sims {

Moments::Moments(std::vector<double> redshifts, double last) : redshifts_(std::move(redshifts)) {
  std::erase_if(redshifts_, [&](double z) { return z < last; });
  redshifts_.push_back(last);
  std::ranges::sort(redshifts_, std::greater{});
}

double Moments::next(double redshift) const {
  const auto found = std::ranges::find_if(redshifts_, [&](double z) { return z < redshift; });
  return found == redshifts_.end() ? redshifts_.back() : *found;
}

}  // namespace sidestream::sims
