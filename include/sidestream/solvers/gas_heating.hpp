#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/core/bill.hpp"
#include "sidestream/core/compact_sum.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace sidestream::solvers {

struct GrowthTable;

/// What heating and cooling did to the leaves on this rank.
struct HeatingBooks {
  core::ExactSum energy;    ///< that they brought in, less what was radiated; proper
  std::int64_t floors = 0;  ///< cells that the temperature floor held
};

/// Heating and cooling as a source of gas in supercomoving variables, of gamma 5/3. Each of the two sees the other as
/// it is in the middle of the step: the Euler equations meet gas whose pressure the source has changed for half a step;
/// the source is integrated from the beginning of the step on at the mean of the densities before and after it, with
/// the change by the Euler equations spread evenly over the step (Lukic et al. 2015, MNRAS 446, 3697). So gas whose
/// heat balances its expansion is never far from this balance, however long the step.
class GasHeating : public GasSource {
 public:
  /// Adds its time to the part `heating` of `bill`, which outlives the object.
  GasHeating(std::shared_ptr<const HeatingCooling> heating, core::Bill& bill);
  ~GasHeating() override;

  const std::shared_ptr<const HeatingCooling>& physics() const { return heating_; }

  /// Until it is called again, steps are of gas of `level`, by `dtau`, and the scale factor in the middle is `a`. The
  /// same on all ranks.
  void begin(int level, double a, double dtau);

  void advance_half(int cells, const double* density, double* pressure) const override;
  /// Cells that are no gas, or that were not integrated, stay as they are: see `problem`.
  void complete(const mesh::Box& cells, core::View4<const double> before, core::View4<double> state,
                double volume) override;

  /// Which cell of this rank was the first that was not advanced and what it holds, in a sentence; empty when there is
  /// none.
  const std::string& problem() const { return problem_; }
  /// What was done since this was last called.
  HeatingBooks take_books();

 private:
  void find_problem(const mesh::Box& plane);
  HeatingCounts complete_plane(const mesh::Box& plane, core::View4<const double> before, core::View4<double> state,
                               double worth);

  std::shared_ptr<const HeatingCooling> heating_;
  core::Bill& bill_;
  std::optional<HeatingCooling::Epoch> epoch_;
  std::unique_ptr<GrowthTable> growth_;
  int level_ = 0;
  double a_ = 1.0, dtau_ = 0.0;
  std::string problem_;
  core::CompactSum energy_;
  std::int64_t floors_ = 0;
  std::vector<double> density_, source_, energies_;  // of a plane
};

}  // namespace sidestream::solvers
