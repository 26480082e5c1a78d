#include "sims/run/moments.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace sidestream::sims {

Moments::Moments(const couple::Landings& landings, const solvers::Background& background, double last) : last_(last) {
  for (const double redshift : landings.redshifts) wanted_.push_back({redshift, {}});
  for (const double time : landings.times)
    if (time > 0.0 && time < background.time(solvers::scale_factor(last)))
      wanted_.push_back({solvers::redshift(background.scale_factor_at(time)), time});
  std::erase_if(wanted_, [&](const Wanted& one) { return couple::has_come_to_redshift(last, one.redshift); });
  std::ranges::sort(wanted_, std::greater{}, &Wanted::redshift);
}

double Moments::next(const mesh::Moment& now) const {
  const auto found = std::ranges::find_if(wanted_, [&](const Wanted& one) {
    return one.time ? !couple::has_come_to_time(*one.time, now.time)
                    : !couple::has_come_to_redshift(one.redshift, now.redshift().value());
  });
  return found == wanted_.end() ? last_ : found->redshift;
}

Times::Times(std::vector<double> wanted, double last) : wanted_(std::move(wanted)), last_(last) {
  std::erase_if(wanted_, [&](double time) { return couple::has_come_to_time(last, time); });
  std::ranges::sort(wanted_);
}

double Times::next(double now) const {
  const auto found = std::ranges::find_if(wanted_, [&](double time) { return !couple::has_come_to_time(time, now); });
  return found == wanted_.end() ? last_ : *found;
}

}  // namespace sidestream::sims
