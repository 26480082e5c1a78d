#pragma once

#include <vector>

#include "sidestream/couple/trigger.hpp"
#include "sidestream/solvers/background.hpp"

namespace sidestream::sims {

/// Redshifts that a run lands on exactly: those asked for, and those of times.
class Moments {
 public:
  /// `last` ends the run.
  Moments(const couple::Landings& landings, const solvers::Background& background, double last);

  /// The next moment below `redshift`; `last` at the end.
  double next(double redshift) const;

 private:
  std::vector<double> redshifts_;  // descending
};

}  // namespace sidestream::sims
