#include "solvers/chemistry/heating_rows.hpp"

#include <algorithm>

#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/rate_table.hpp"

// A few cells side by side in the lanes of vectors. Where lanes need different numbers of iterations, those that are
// done keep what they have.

namespace sidestream::solvers {

namespace {

constexpr double boltzmann = 1.380649e-16;      // [erg/K]
constexpr double fewest_electrons = 1e-30;      // over n_H
constexpr double electron_accuracy = 1e-6;      // relative, of the last but one iteration, which converge as squares
constexpr int most_electron_iterations = 100;   // from far on the wrong side each doubles the electrons
constexpr double energy_accuracy = 3e-5;        // of ln T, where the integration begins; it corrects what is left
constexpr double equilibrium_accuracy = 1e-10;  // of ln T, of equilibria that are asked for
constexpr int most_temperature_iterations = 60;
constexpr double bracket_margin = 1e-3;          // of ln T
constexpr double slope_step = 1e-5;              // in ln T
constexpr double widest_stage = 1.0;             // in ln T, that a stage may lie away from the beginning of its step
constexpr double step_accuracy = 1.5e-4;         // of ln T in a step, by the embedded method
constexpr double unstable_step_accuracy = 3e-6;  // the same where differences grow
constexpr double much_growth = 0.2;              // of ln of a difference of ln T
constexpr double first_change = 0.5;             // of ln T, at the initial rate, in the first step
constexpr int most_steps = 2000;

/// The cells of the lanes, and what does not change while they are integrated.
struct Cells {
  Lanes density;                                // n_H [1/cm^3]
  Lanes photo_hi, photo_hei, photo_heii;        // ionisation over n_H [cm^3/s]
  Lanes heating_hi, heating_hei, heating_heii;  // [erg/s]
  Lanes log_shielding;                          // ln of n_H / n_SSh at T = 1 K
};

/// Rates of two-body processes at the temperatures of the lanes: those that ionisation follows from, and all.
struct IonizationRates {
  Lanes recombination_hii, recombination_heii, recombination_heiii, ionization_hi, ionization_hei, ionization_heii;
};
struct Rates : IonizationRates {
  Lanes cooling_hi, cooling_hei, collisions_heii, cooling_hii, cooling_heii, cooling_heiii;
};

/// Fractions of equilibrium, over n_H.
struct Fractions {
  Lanes electrons, hi, hii, hei, heii, heiii;
};

/// Gas at a temperature.
struct State {
  Lanes log_temperature, temperature, theta;
  Lanes heating, cooling, compton;  // over n_H, n_H^2 and n_H
  Fractions fractions;
  Mask unsolved;
};

/// Weights of Hermite's cubics at `f` in [0, 1]: of the values below and above, of the slopes below and above.
struct HermiteWeights {
  explicit HermiteWeights(Lanes f)
      : above(f * f * (3.0 - 2.0 * f)), slope_below(f * (1.0 - f) * (1.0 - f)), slope_above(f * f * (f - 1.0)) {
    below = 1.0 - above;
  }
  Lanes below, above, slope_below, slope_above;
};

/// Where lanes are in a table.
struct TablePlace {
  TablePlace(Lanes nodes, int intervals) {
    const Lanes inside = larger_of(smaller_of(nodes, all(intervals)), all(0.0));
    const Places whole = __builtin_convertvector(smaller_of(inside, all(intervals - 1)), Places);
    first = whole;
    fraction = inside - __builtin_convertvector(whole, Lanes);
  }
  Places first;
  Lanes fraction;
};

/// The first columns of the table at the temperatures of the lanes.
template <int Columns>
struct TableColumns {
  [[gnu::always_inline]] TableColumns(const double* table, Lanes log_temperature) {
    const TablePlace place(log_temperature * nodes_per_unit, table_intervals);
    const HermiteWeights weights(place.fraction);
    for (int l = 0; l < lanes; ++l) {
      const double* node = table + place.first[l] * (2 * table_width);
      for (int part = 0; part < Columns; part += lanes) {
        const Lanes row = load(node + part) * weights.below[l] +
                          load(node + table_width + part) * weights.slope_below[l] +
                          load(node + 2 * table_width + part) * weights.above[l] +
                          load(node + 3 * table_width + part) * weights.slope_above[l];
        __builtin_memcpy(&rows[l][part], &row, sizeof row);
      }
    }
  }
  [[gnu::always_inline]] Lanes operator()(TableRate rate) const {
    Lanes values;
    for (int l = 0; l < lanes; ++l) values[l] = rows[l][rate];
    return values;
  }
  alignas(64) double rows[lanes][table_width];
};

/// Powers of the Boltzmann factor that the table leaves out.
struct BoltzmannFactors {
  [[gnu::always_inline]] explicit BoltzmannFactors(Lanes temperature)
      : once(exponential(-boltzmann_unit / temperature)),
        power_3(once * once * once),
        power_4(power_3 * once),
        power_7(power_4 * power_3),
        power_12(power_4 * power_4 * power_4),
        power_16(power_12 * power_4) {}
  Lanes once, power_3, power_4, power_7, power_12, power_16;
};
constexpr int ionization_columns = (table_cooling_hi + lanes - 1) / lanes * lanes;
constexpr BoltzmannPowers powers;
static_assert(powers.ionization_hi == 4 && powers.ionization_hei == 7 && powers.ionization_heii == 16);
static_assert(powers.cooling_hi == 3 && powers.cooling_hei == 7 && powers.cooling_heii == 12);

template <int Columns>
[[gnu::always_inline]] inline IonizationRates ionization_rates(const TableColumns<Columns>& column,
                                                               const BoltzmannFactors& factor) {
  return {column(table_recombination_hii),
          column(table_recombination_heii),
          column(table_recombination_heiii),
          column(table_ionization_hi) * factor.power_4,
          column(table_ionization_hei) * factor.power_7,
          column(table_ionization_heii) * factor.power_16};
}

[[gnu::always_inline]] inline Rates rates_at(const double* table, Lanes log_temperature, Lanes temperature) {
  const TableColumns<table_width> column(table, log_temperature);
  const BoltzmannFactors factor(temperature);
  return {ionization_rates(column, factor),
          column(table_cooling_hi) * factor.power_3,
          column(table_cooling_hei) * factor.power_7,
          column(table_collisions_heii) * factor.power_12,
          column(table_cooling_hii),
          column(table_cooling_heii),
          column(table_cooling_heiii)};
}

Lanes shielded_share(const double* table, Lanes w) {
  const TablePlace place((w - shielding_begin) * shielding_nodes_per_unit, shielding_intervals);
  const HermiteWeights weights(place.fraction);
  Lanes share;
  for (int l = 0; l < lanes; ++l) {
    const double* node = table + 2 * place.first[l];
    share[l] = node[0] * weights.below[l] + node[1] * weights.slope_below[l] + node[2] * weights.above[l] +
               node[3] * weights.slope_above[l];
  }
  return share;
}

/// Photoionisation that reaches the cells, over n_H.
struct Light {
  Lanes hi, hei, heii;
  Lanes share;  // of the light that ionises H I and He I
};
[[gnu::always_inline]] inline Light light_at(const HeatingMoment& moment, const Cells& cells, Lanes log_temperature) {
  const Lanes share = moment.shielding == nullptr
                          ? all(1.0)
                          : shielded_share(moment.shielding, cells.log_shielding - 0.17 * log_temperature);
  return {cells.photo_hi * share, cells.photo_hei * share, cells.photo_heii, share};
}

/// Ionisation equilibrium for given electrons (Katz et al. 1996, equations 33 to 38), each fraction as a ratio of
/// products, without differences: He I, He II and He III are to each other as `hei`, `heii` and `heiii`.
struct Balance {
  [[gnu::always_inline]] Balance(const IonizationRates& rates, const Light& light, Lanes x)
      : ionization_hi(rates.ionization_hi * x),
        ionization_hei(rates.ionization_hei * x),
        ionization_heii(rates.ionization_heii * x),
        hi(rates.recombination_hii * x),
        hii(ionization_hi + light.hi),
        hei(rates.recombination_heii * x * (rates.recombination_heiii * x)),
        heii((ionization_hei + light.hei) * (rates.recombination_heiii * x)),
        heiii((ionization_hei + light.hei) * (ionization_heii + light.heii)),
        hydrogen(hi + hii),
        helium(hei + heii + heiii) {}

  Lanes ionization_hi, ionization_hei, ionization_heii;
  Lanes hi, hii, hei, heii, heiii, hydrogen, helium;
};

/// One step of Newton's method for x = R(x), R being the electrons that atoms have lost when there are x: R falls with
/// x, and with s = -dln R / dln x the next x is R (1 + s) / (1 + s R / x), which is above zero whatever x is.
[[gnu::always_inline]] inline Lanes next_electrons(const IonizationRates& rates, const Light& light, double y,
                                                   Lanes x) {
  const Balance b(rates, light, x);
  const Lanes inverse = 1.0 / (b.hydrogen * b.helium);
  const Lanes over_hydrogen = inverse * b.helium, over_helium = inverse * b.hydrogen;
  const Lanes hii = b.hii * over_hydrogen, helium_electrons = (b.heii + 2.0 * b.heiii) * over_helium;
  // Slopes times x.
  const Lanes slope_heii = b.heii + b.ionization_hei * (rates.recombination_heiii * x);
  const Lanes slope_heiii =
      b.ionization_hei * (b.ionization_heii + light.heii) + (b.ionization_hei + light.hei) * b.ionization_heii;
  const Lanes slope_helium = 2.0 * b.hei + slope_heii + slope_heiii;
  const Lanes fall = b.hi * over_hydrogen * (light.hi * over_hydrogen) +
                     y * ((helium_electrons * slope_helium - (slope_heii + 2.0 * slope_heiii)) * over_helium);
  const Lanes lost = hii + y * helium_electrons;
  return larger_of(x * (lost + fall) / (x + fall), all(fewest_electrons));
}

/// The electrons of equilibrium from the guess `x` on; `unsolved` where there is none after many iterations.
[[gnu::always_inline]] inline Lanes solved_electrons(const IonizationRates& rates, const Light& light, double y,
                                                     Lanes x, Mask& unsolved) {
  unsolved = x == x;
  for (int n = 0; n < most_electron_iterations && any(unsolved); ++n) {
    const Lanes next = next_electrons(rates, light, y, x);
    const Mask changes = magnitude(next - x) > electron_accuracy * next;
    x = unsolved ? next : x;
    unsolved &= changes;
  }
  return x;
}

/// Equilibrium at a temperature; `electrons` is a guess.
State state_at(const HeatingMoment& moment, const Cells& cells, Lanes log_temperature, Lanes electrons) {
  State state;
  state.log_temperature = log_temperature;
  state.temperature = exponential(log_temperature);
  const Rates rates = rates_at(moment.rates, log_temperature, state.temperature);
  const Light light = light_at(moment, cells, log_temperature);
  const double y = moment.helium;
  const Lanes x = solved_electrons(rates, light, y, electrons, state.unsolved);

  const Balance b(rates, light, x);
  const Lanes inverse = 1.0 / (b.hydrogen * b.helium);
  const Lanes over_hydrogen = inverse * b.helium, over_helium = y * (inverse * b.hydrogen);
  const Fractions f{
      x, b.hi * over_hydrogen, b.hii * over_hydrogen, b.hei * over_helium, b.heii * over_helium, b.heiii * over_helium};
  state.fractions = f;
  state.theta = state.temperature * (1.0 + y + x);
  state.heating = (f.hi * cells.heating_hi + f.hei * cells.heating_hei) * light.share + f.heii * cells.heating_heii;
  state.cooling = x * (f.hi * rates.cooling_hi + f.hii * rates.cooling_hii + f.hei * rates.cooling_hei +
                       f.heii * (rates.collisions_heii + rates.cooling_heii) + f.heiii * rates.cooling_heiii);
  state.compton = moment.compton * x * (state.temperature - moment.cmb_temperature);
  return state;
}

/// d theta / dt [K/s]
[[gnu::always_inline]] inline Lanes rate_of(const Cells& cells, const State& state) {
  return (state.heating - cells.density * state.cooling - state.compton) * (2.0 / (3.0 * boltzmann));
}

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
State state_of(const HeatingMoment& moment, const Cells& cells, Lanes theta) {
  TemperatureSearch search(theta, moment.helium);
  Lanes electrons = all(1.0 + 2.0 * moment.helium);
  Mask wrong = theta == theta;
  State state;
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
[[gnu::always_inline]] inline Lanes temperature_of(const HeatingMoment& moment, const Cells& cells, Lanes theta,
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

/// A step of the lanes and what it came to.
struct Step {
  Lanes theta, log_temperature;  // after it
  Lanes error;                   // of ln T, by the embedded method
  Mask unsolved;
};

/// Rates of change and their slopes by ln T where a step begins.
struct Slopes {
  Lanes theta, rate, electrons;
};

/// One step of length `h` [s] of d theta / dt = rate(ln T) + source, 0 = theta(ln T) - theta: a differential-algebraic
/// system for the Rosenbrock method RODAS3 (Sandu et al. 1997, Atmos. Environ. 31, 3459): four stages of which two need
/// new rates, third order, L-stable, stiffly accurate; gamma = 1/2. The equations of a stage reduce to one unknown.
Step step_from(const HeatingMoment& moment, const Cells& cells, Lanes source, Lanes theta, const State& start,
               const Slopes& slopes, Lanes h) {
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
  const State third_state = state_after(third_way);
  const Change third = change(rate_of(cells, third_state) + source + (first.theta - second.theta) * over_h,
                              third_state.theta - (theta + 2.0 * first.theta));

  const Lanes fourth_way = third_way + third.log_temperature, fourth_theta = theta + 2.0 * first.theta + third.theta;
  const State fourth_state = state_after(fourth_way);
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
struct Integration {
  Lanes theta;
  Mask at_floor, failed, unfinished;
  int steps[lanes];
};

[[gnu::always_inline]] inline Slopes slopes_at(const HeatingMoment& moment, const Cells& cells, const State& start) {
  const State ahead = state_at(moment, cells, start.log_temperature + slope_step, start.fractions.electrons);
  return {(ahead.theta - start.theta) / slope_step, (rate_of(cells, ahead) - rate_of(cells, start)) / slope_step,
          (ahead.fractions.electrons - start.fractions.electrons) / slope_step};
}

/// The accuracy of a step from `start` on: finer where differences of ln T grow in the time that is left.
[[gnu::always_inline]] inline Lanes accuracy_at(const State& start, const Slopes& slopes, Lanes rate, Lanes left) {
  const Lanes growth = (slopes.rate * start.theta - rate * slopes.theta) * left;
  return growth > much_growth * slopes.theta * start.theta ? all(unstable_step_accuracy) : all(step_accuracy);
}

/// Integrates the cells over `dt` [s] from the energies `theta` on, in `most` steps. Gas that cools below the floor
/// stays there.
Integration integrated(const HeatingMoment& moment, const Cells& cells, Lanes source, Lanes theta, double dt,
                       int most) {
  State start = state_of(moment, cells, theta);
  Integration result{theta, theta != theta, start.unsolved, theta != theta, {}};
  Lanes left = all(dt), h = left;
  Mask going = ~result.failed;
  for (int n = 0; n < most && any(going); ++n) {
    const Slopes slopes = slopes_at(moment, cells, start);
    const Lanes rate = rate_of(cells, start) + source;
    if (n == 0) h = smaller_of(h, first_change * slopes.theta / (magnitude(rate) + 1e-300));
    // Where heat makes more heat, no longer than that takes: the equations of the stages stay solvable.
    h = slopes.rate * h > slopes.theta ? slopes.theta / slopes.rate : h;
    const Lanes accuracy = accuracy_at(start, slopes, rate, left);
    const Step step = step_from(moment, cells, source, result.theta, start, slopes, h);
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
    const State floor = state_at(moment, cells, all(moment.log_floor), all(1.0 + 2.0 * moment.helium));
    result.theta = result.at_floor ? floor.theta : result.theta;
  }
  return result;
}

/// `lanes` values from `begin` on; behind the last one, that again.
[[gnu::always_inline]] inline Lanes values_of(const double* row, int begin, int cells) {
  Lanes values;
  for (int l = 0; l < lanes; ++l) values[l] = row[std::min(begin + l, cells - 1)];
  return values;
}

/// The cells of these densities, in units of the rows.
Cells cells_of(const HeatingMoment& moment, Lanes density) {
  const UvRates& uv = moment.uv;
  const Lanes n = density * moment.hydrogen_per_density;
  const Lanes amplification = moment.heating_exponent == 0.0
                                  ? all(1.0)
                                  : exponential(moment.heating_exponent * logarithm(density / moment.mean_density));
  return {n,
          uv.ionization_hi / n,
          uv.ionization_hei / n,
          uv.ionization_heii / n,
          uv.heating_hi * amplification,
          uv.heating_hei * amplification,
          uv.heating_heii * amplification,
          moment.shielding == nullptr ? all(0.0) : logarithm(n) - moment.shielding_log_density};
}

/// A row whose energies are integrated over `seconds`; `source` is null for none.
struct RowIntegration {
  const HeatingMoment& moment;
  double seconds;
  const double *density, *source;
  double* energy;
  HeatingTally& tally;

  void fail(int cell) const {
    ++tally.failed;
    if (tally.first_failed < 0 || cell < tally.first_failed) tally.first_failed = cell;
  }

  /// Integrates the cells in `places` in `most` steps. Those that are not done by then stay as they are: their places
  /// come first, and their number is returned.
  int integrate(int* places, int count, int most) const {
    const double source_factor = moment.theta_per_energy / moment.seconds_per_time;
    int left = 0;
    for (int begin = 0; begin < count; begin += lanes) {
      const auto values = [&](const double* row) {
        Lanes of;
        for (int l = 0; l < lanes; ++l) of[l] = row[places[std::min(begin + l, count - 1)]];
        return of;
      };
      const Cells here = cells_of(moment, values(density));
      const Lanes heat = source == nullptr ? all(0.0) : values(source) * source_factor;
      const Integration done = integrated(moment, here, heat, values(energy) * moment.theta_per_energy, seconds, most);
      for (int l = 0; l < std::min(lanes, count - begin); ++l) {
        const int cell = places[begin + l];
        tally.steps += done.steps[l];
        if (done.failed[l] != 0) {
          fail(cell);
        } else if (done.unfinished[l] != 0) {
          places[left++] = cell;
        } else {
          tally.at_floor -= static_cast<int>(done.at_floor[l]);
          energy[cell] = done.theta[l] / moment.theta_per_energy;
        }
      }
    }
    return left;
  }
};

void store_if_wanted(std::span<double> row, int begin, int end, Lanes values) {
  if (row.empty()) return;
  for (int i = begin; i < end; ++i) row[static_cast<std::size_t>(i)] = values[i - begin];
}

void store(const HeatingMoment& moment, const Cells& cells, const State& state, int begin, int end,
           const GasEquilibrium& out) {
  const Fractions& f = state.fractions;
  const Lanes n = cells.density;
  store_if_wanted(out.temperature, begin, end, state.temperature);
  store_if_wanted(out.energy, begin, end, state.theta / moment.theta_per_energy);
  store_if_wanted(out.electrons, begin, end, f.electrons);
  store_if_wanted(out.hi, begin, end, f.hi);
  store_if_wanted(out.hii, begin, end, f.hii);
  store_if_wanted(out.hei, begin, end, f.hei);
  store_if_wanted(out.heii, begin, end, f.heii);
  store_if_wanted(out.heiii, begin, end, f.heiii);
  store_if_wanted(out.heating, begin, end, state.heating * n);
  store_if_wanted(out.cooling, begin, end, state.cooling * n * n);
  store_if_wanted(out.compton, begin, end, state.compton * n);
}

bool is_of_temperature_alone(const GasEquilibrium& out) {
  return out.energy.empty() && out.electrons.empty() && out.hi.empty() && out.hii.empty() && out.hei.empty() &&
         out.heii.empty() && out.heiii.empty() && out.heating.empty() && out.cooling.empty() && out.compton.empty();
}

/// Equilibria of a row; `temperature_for` gives the temperatures of the cells that begin at an index, and says which it
/// has not found.
template <typename F>
int equilibria(const HeatingMoment& moment, int cells, const double* density, const GasEquilibrium& out,
               F temperature_for) {
  const bool is_of_all = !is_of_temperature_alone(out);
  int unsolved = 0;
  for (int begin = 0; begin < cells; begin += lanes) {
    const int end = std::min(begin + lanes, cells);
    const Cells here = cells_of(moment, values_of(density, begin, cells));
    Mask lost{};
    const Lanes temperature = temperature_for(here, begin, lost);
    if (is_of_all) {
      State state = state_at(moment, here, logarithm(temperature), all(1.0 + 2.0 * moment.helium));
      state.temperature = temperature;
      store(moment, here, state, begin, end, out);
      lost |= state.unsolved;
    } else {
      store_if_wanted(out.temperature, begin, end, temperature);
    }
    for (int i = begin; i < end; ++i) unsolved -= static_cast<int>(lost[i - begin]);
  }
  return unsolved;
}

}  // namespace

inline namespace kernels {

// Most cells are done after a step. Those that are not begin anew beside each other, so that nobody waits for them.
HeatingTally integrate_row(const HeatingMoment& moment, int cells, double dt, const double* density,
                           const double* source, double* energy) {
  constexpr int most_at_once = 1024;
  int places[most_at_once];
  HeatingTally tally;
  const RowIntegration row{moment, dt * moment.seconds_per_time, density, source, energy, tally};
  for (int begin = 0; begin < cells; begin += most_at_once) {
    const int count = std::min(most_at_once, cells - begin);
    for (int n = 0; n < count; ++n) places[n] = begin + n;
    const int left = row.integrate(places, count, 1), never = row.integrate(places, left, most_steps);
    for (int n = 0; n < never; ++n) row.fail(places[n]);
  }
  return tally;
}

// What is found beside the temperature is that of the number that the temperature is rounded to, as if it were asked
// for by `equilibrium_of_temperatures`.
int equilibrium_of_energies(const HeatingMoment& moment, int cells, const double* density, const double* energy,
                            const GasEquilibrium& out) {
  return equilibria(moment, cells, density, out, [&](const Cells& here, int begin, Mask& lost) {
    return temperature_of(moment, here, values_of(energy, begin, cells) * moment.theta_per_energy, lost);
  });
}

int equilibrium_of_temperatures(const HeatingMoment& moment, int cells, const double* density,
                                const double* temperature, const GasEquilibrium& out) {
  return equilibria(moment, cells, density, out,
                    [&](const Cells&, int begin, Mask&) { return values_of(temperature, begin, cells); });
}

}  // namespace kernels

}  // namespace sidestream::solvers
