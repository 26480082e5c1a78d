#pragma once

#include "sidestream/solvers/heating_moment.hpp"
#include "solvers/chemistry/ionization_equilibrium.hpp"
#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/temperature_search.hpp"

/// The energy of gas after a time, in steps as long as the accuracy allows. For one file of kernels,
/// `heating_rows.cpp`.
namespace sidestream::solvers {

constexpr double slope_step = 1e-5;              // in ln T
constexpr double widest_stage = 1.0;             // in ln T, that a stage may lie away from the beginning of its step
constexpr double step_accuracy = 1.5e-4;         // of ln T in a step, by the embedded method
constexpr double unstable_step_accuracy = 3e-6;  // the same where differences grow
constexpr double much_growth = 0.2;              // of ln of a difference of ln T
constexpr double first_change = 0.5;             // of ln T, at the initial rate, in the first step

/// A step of the lanes and what it came to.
struct HeatingStep {
  Lanes theta, log_temperature;  // after it
  Lanes error;                   // of ln T, by the embedded method
  Mask unsolved;
};

/// Rates of change and their slopes by ln T where a step begins.
struct HeatingSlopes {
  Lanes theta, rate, electrons;
};

/// One step of length `h` [s] of d theta / dt = rate(ln T) + source, 0 = theta(ln T) - theta: a differential-algebraic
/// system for the Rosenbrock method RODAS3 (Sandu et al. 1997, Atmos. Environ. 31, 3459): four stages of which two need
/// new rates, third order, L-stable, stiffly accurate; gamma = 1/2. The equations of a stage reduce to one unknown.
static HeatingStep step_from(const HeatingMoment& moment, const CellLanes& cells, Lanes source, Lanes theta,
                             const GasState& start, const HeatingSlopes& slopes, Lanes h) {
  struct Change {
    Lanes theta, log_temperature;
  };
  const Lanes over_h = 1.0 / h, twice_over_h = 2.0 * over_h;
  const Lanes inverse = 1.0 / (slopes.theta * twice_over_h - slopes.rate);
  const auto change = [&](Lanes rate, Lanes excess) __attribute__((always_inline)) {
    const Lanes log_temperature = (rate - excess * twice_over_h) * inverse;
    return Change{excess + slopes.theta * log_temperature, log_temperature};
  };
  const auto state_after = [&](Lanes log_temperature) __attribute__((always_inline)) {
    const Lanes way = smaller_of(larger_of(log_temperature, all(-widest_stage)), all(widest_stage));
    const Lanes fewest = 0.1 * start.fractions.electrons;
    return state_at(moment, cells, start.log_temperature + way,
                    larger_of(start.fractions.electrons + slopes.electrons * way, fewest));
  };
  const Lanes rate = rate_of(cells, start) + source, excess = start.theta - theta;
  const Change first = change(rate, excess), second = change(rate + 4.0 * over_h * first.theta, excess);

  const Lanes third_way = 2.0 * first.log_temperature;
  const GasState third_state = state_after(third_way);
  const Change third = change(rate_of(cells, third_state) + source + (first.theta - second.theta) * over_h,
                              third_state.theta - (theta + 2.0 * first.theta));

  const Lanes fourth_way = third_way + third.log_temperature, fourth_theta = theta + 2.0 * first.theta + third.theta;
  const GasState fourth_state = state_after(fourth_way);
  const Change fourth =
      change(rate_of(cells, fourth_state) + source + (first.theta - second.theta - (8.0 / 3.0) * third.theta) * over_h,
             fourth_state.theta - fourth_theta);

  const Lanes farthest = larger_of(magnitude(third_way), magnitude(fourth_way));
  const Lanes error = larger_of(magnitude(fourth.log_temperature), magnitude(fourth.theta) / start.theta);
  return {fourth_theta + fourth.theta, start.log_temperature + fourth_way + fourth.log_temperature,
          farthest > widest_stage ? all(1.0) : error, third_state.unsolved | fourth_state.unsolved};
}

/// The factor by which the next step is longer, after a step of this error.
[[gnu::always_inline]] inline Lanes growth_after(Lanes error, Lanes accuracy) {
  const Lanes factor = 0.9 * exponential(logarithm(accuracy / (error + 1e-12)) * (1.0 / 3.0));
  return smaller_of(larger_of(factor, all(0.1)), all(5.0));
}

/// Cells while they are integrated.
struct HeatingIntegration {
  Lanes theta;
  Mask at_floor, failed, unfinished;
  int steps[lanes];
};

[[gnu::always_inline]] inline HeatingSlopes slopes_at(const HeatingMoment& moment, const CellLanes& cells,
                                                      const GasState& start) {
  const GasState ahead = state_at(moment, cells, start.log_temperature + slope_step, start.fractions.electrons);
  return {(ahead.theta - start.theta) / slope_step, (rate_of(cells, ahead) - rate_of(cells, start)) / slope_step,
          (ahead.fractions.electrons - start.fractions.electrons) / slope_step};
}

/// The accuracy of a step from `start` on: finer where differences of ln T grow in the time that is left.
[[gnu::always_inline]] inline Lanes accuracy_at(const GasState& start, const HeatingSlopes& slopes, Lanes rate,
                                                Lanes left) {
  const Lanes growth = (slopes.rate * start.theta - rate * slopes.theta) * left;
  return growth > much_growth * slopes.theta * start.theta ? all(unstable_step_accuracy) : all(step_accuracy);
}

/// Integrates the cells over `dt` [s] from the energies `theta` on, in `most` steps. Gas that cools below the floor
/// stays there.
static HeatingIntegration integrated(const HeatingMoment& moment, const CellLanes& cells, Lanes source, Lanes theta,
                                     double dt, int most) {
  GasState start = state_of(moment, cells, theta);
  HeatingIntegration result{theta, theta != theta, start.unsolved, theta != theta, {}};
  Lanes left = all(dt), h = left;
  Mask going = ~result.failed;
  for (int n = 0; n < most && any(going); ++n) {
    const HeatingSlopes slopes = slopes_at(moment, cells, start);
    const Lanes rate = rate_of(cells, start) + source;
    if (n == 0) h = smaller_of(h, first_change * slopes.theta / (magnitude(rate) + 1e-300));
    // Where heat makes more heat, no longer than that takes: the equations of the stages stay solvable.
    h = slopes.rate * h > slopes.theta ? slopes.theta / slopes.rate : h;
    const Lanes accuracy = accuracy_at(start, slopes, rate, left);
    const HeatingStep step = step_from(moment, cells, source, result.theta, start, slopes, h);
    for (int l = 0; l < lanes; ++l) result.steps[l] -= static_cast<int>(going[l]);
    result.failed |= going & step.unsolved;
    const Mask good = going & (step.error <= accuracy);
    result.theta = good ? step.theta : result.theta;
    left = good ? left - h : left;
    const Mask ends = (step.log_temperature < start.log_temperature) | (left <= 0.0);
    const Mask held = good & (step.log_temperature < moment.log_floor) & ends;
    result.at_floor |= held;
    going &= ~(held | result.failed) & (left > 0.0);
    if (!any(going) || n + 1 == most) break;
    start = state_at(moment, cells, good ? step.log_temperature : start.log_temperature, start.fractions.electrons);
    h = smaller_of(h * growth_after(step.error, accuracy), left);
  }
  result.unfinished = going;
  if (any(result.at_floor)) {
    const GasState floor = state_at(moment, cells, all(moment.log_floor), all(1.0 + 2.0 * moment.helium));
    result.theta = result.at_floor ? floor.theta : result.theta;
  }
  return result;
}

}  // namespace sidestream::solvers
