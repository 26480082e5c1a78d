#include "solvers/chemistry/heating_rows.hpp"

#include <algorithm>

#include "solvers/chemistry/heating_integration.hpp"
#include "solvers/chemistry/ionization_equilibrium.hpp"
#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/temperature_search.hpp"

// A few cells side by side in the lanes of vectors. Where lanes need different numbers of iterations, those that are
// done keep what they have.

namespace sidestream::solvers {

namespace {

constexpr int most_steps = 2000;

/// `lanes` values from `begin` on; behind the last one, that again.
[[gnu::always_inline]] inline Lanes values_of(const double* row, int begin, int cells) {
  Lanes values;
  for (int l = 0; l < lanes; ++l) values[l] = row[std::min(begin + l, cells - 1)];
  return values;
}

/// The cells of these densities, in units of the rows.
CellLanes cells_of(const HeatingMoment& moment, Lanes density) {
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
      const CellLanes here = cells_of(moment, values(density));
      const Lanes heat = source == nullptr ? all(0.0) : values(source) * source_factor;
      const HeatingIntegration done =
          integrated(moment, here, heat, values(energy) * moment.theta_per_energy, seconds, most);
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

void store(const HeatingMoment& moment, const CellLanes& cells, const GasState& state, int begin, int end,
           const GasEquilibrium& out) {
  const IonFractions& f = state.fractions;
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
    const CellLanes here = cells_of(moment, values_of(density, begin, cells));
    Mask lost{};
    const Lanes temperature = temperature_for(here, begin, lost);
    if (is_of_all) {
      GasState state = state_at(moment, here, logarithm(temperature), all(1.0 + 2.0 * moment.helium));
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
  return equilibria(moment, cells, density, out, [&](const CellLanes& here, int begin, Mask& lost) {
    return temperature_of(moment, here, values_of(energy, begin, cells) * moment.theta_per_energy, lost);
  });
}

int equilibrium_of_temperatures(const HeatingMoment& moment, int cells, const double* density,
                                const double* temperature, const GasEquilibrium& out) {
  return equilibria(moment, cells, density, out,
                    [&](const CellLanes&, int begin, Mask&) { return values_of(temperature, begin, cells); });
}

}  // namespace kernels

}  // namespace sidestream::solvers
