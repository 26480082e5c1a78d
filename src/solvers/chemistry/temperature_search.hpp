#pragma once

#include "sidestream/solvers/heating_moment.hpp"
#include "solvers/chemistry/ionization_equilibrium.hpp"
#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/rate_lookup.hpp"

/// The temperature of gas of an energy. For one file of kernels, `heating_rows.cpp`.
namespace sidestream::solvers {

constexpr double energy_accuracy = 3e-5;        // of ln T, where the integration begins; it corrects what is left
constexpr double equilibrium_accuracy = 1e-10;  // of ln T, of equilibria that are asked for
constexpr int most_temperature_iterations = 60;
constexpr double bracket_margin = 1e-3;  // of ln T

/// Looks for the temperatures of energies `theta`: the secant method for ln T + ln(1 + y + x_e(T)) = ln theta, between
/// the temperatures that they would be at without electrons and with all of them.
struct TemperatureSearch {
  [[gnu::always_inline]] TemperatureSearch(Lanes theta, double y) : log_theta(logarithm(theta)) {
    guess = log_theta - logarithm(all(2.0 + 3.0 * y));
    hot = log_theta - logarithm(all(1.0 + y)) + bracket_margin;
    cold = guess - bracket_margin;
    last_guess = cold;
    last_excess = all(0.0);
  }

  /// A step of the lanes that are `wrong` by `excess` of ln theta; the first trusts the electrons that it was guessed
  /// with.
  [[gnu::always_inline]] void go_on(Lanes excess, Mask wrong, bool is_first) {
    hot = (wrong & (excess > 0.0)) ? guess : hot;
    cold = (wrong & (excess < 0.0)) ? guess : cold;
    const Lanes slope = is_first ? all(1.0) : (excess - last_excess) / (guess - last_guess);
    const Lanes secant = guess - excess / slope;
    last_guess = wrong ? guess : last_guess;
    last_excess = wrong ? excess : last_excess;
    guess = wrong ? (((secant > cold) & (secant < hot)) ? secant : 0.5 * (cold + hot)) : guess;
  }

  Lanes log_theta, guess, last_guess, last_excess, hot, cold;
};

/// The state of the energy `theta`, to `energy_accuracy`.
static GasState state_of(const HeatingMoment& moment, const CellLanes& cells, Lanes theta) {
  TemperatureSearch search(theta, moment.helium);
  Lanes electrons = all(1.0 + 2.0 * moment.helium);
  Mask wrong = theta == theta;
  GasState state;
  for (int n = 0;; ++n) {
    state = state_at(moment, cells, search.guess, electrons);
    const Lanes excess = logarithm(state.theta) - search.log_theta;
    wrong &= magnitude(excess) > energy_accuracy;
    if (n == most_temperature_iterations || !any(wrong)) break;
    search.go_on(excess, wrong, n == 0);
    electrons = wrong ? state.fractions.electrons : electrons;
  }
  state.unsolved |= wrong;
  return state;
}

/// The temperature of gas of the energy `theta`, to `equilibrium_accuracy`. Electrons are guessed as if they changed
/// with ln T as between the last two guesses.
[[gnu::always_inline]] inline Lanes temperature_of(const HeatingMoment& moment, const CellLanes& cells, Lanes theta,
                                                   Mask& unsolved) {
  const double y = moment.helium;
  TemperatureSearch search(theta, y);
  Lanes guess = all(1.0 + 2.0 * y), last_electrons = guess, last_step = all(1.0), step_before = all(1.0);
  Mask wrong = theta == theta;
  unsolved = theta != theta;
  for (int n = 0; n < most_temperature_iterations && any(wrong); ++n) {
    const Lanes temperature = exponential(search.guess);
    const IonizationRates rates =
        ionization_rates(TableColumns<ionization_columns>(moment.rates, search.guess), BoltzmannFactors(temperature));
    Mask electrons_unsolved;
    const Lanes x = solved_electrons(rates, light_at(moment, cells, search.guess), y, guess, electrons_unsolved);
    unsolved |= wrong & electrons_unsolved;
    const Lanes before = search.guess, slope = (x - last_electrons) / (before - search.last_guess);
    search.go_on(before + logarithm(1.0 + y + x) - search.log_theta, wrong, n == 0);
    const Lanes step = search.guess - before, ahead = n == 0 ? x : x + slope * step;
    guess = wrong ? larger_of(ahead, 0.1 * x) : guess;
    last_electrons = wrong ? x : last_electrons;
    // What is left after a secant's step is to it as the step is to the last but one.
    wrong &= step * step > equilibrium_accuracy * magnitude(step_before);
    step_before = last_step;
    last_step = step;
  }
  unsolved |= wrong;
  return exponential(search.guess);
}

}  // namespace sidestream::solvers
