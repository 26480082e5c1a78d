#pragma once

#include <optional>
#include <vector>

#include "sidestream/couple/trigger.hpp"
#include "sidestream/solvers/background.hpp"

namespace sidestream::sims {

/// Redshifts that a run lands on exactly: those asked for, and those of times.
class Moments {
 public:
  /// `last` ends the run.
  Moments(const couple::Landings& landings, const solvers::Background& background, double last);

  /// The redshift of the next moment after `now`; `last` at the end. What triggers take for the same moment as `now`,
  /// or as the end, is none of its own, so that no step is next to nothing.
  double next(const mesh::Moment& now) const;

 private:
  struct Wanted {
    double redshift;
    std::optional<double> time;  // where that is what was asked for
  };

  std::vector<Wanted> wanted_;  // in their order
  double last_;
};

/// Times that a run of a simulation without redshifts lands on exactly, by the same rules.
class Times {
 public:
  Times(std::vector<double> wanted, double last);

  double next(double now) const;

 private:
  std::vector<double> wanted_;  // ascending
  double last_;
};

}  // namespace sidestream::sims
