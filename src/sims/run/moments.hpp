#pragma once

#include <vector>

namespace sidestream::sims {

/// Redshifts that a run lands on exactly.
class Moments {
 public:
  /// `redshifts` in any order; `last` ends the run.
  Moments(std::vector<double> redshifts, double last);

  /// The next moment below `redshift`; `last` at the end.
  double next(double redshift) const;

 private:
  std::vector<double> redshifts_;  // descending
};

}  // namespace sidestream::sims
