#pragma once

#include "sidestream/solvers/heating_moment.hpp"
#include "solvers/chemistry/lanes.hpp"
#include "solvers/chemistry/rate_lookup.hpp"

/// The ionisation of gas at a temperature, and what heats and cools it. For one file of kernels, `heating_rows.cpp`.
namespace sidestream::solvers {

constexpr double boltzmann = 1.380649e-16;     // [erg/K]
constexpr double fewest_electrons = 1e-30;     // over n_H
constexpr double electron_accuracy = 1e-6;     // relative, of the last but one iteration, which converge as squares
constexpr int most_electron_iterations = 100;  // from far on the wrong side each doubles the electrons

/// The cells of the lanes, and what does not change while they are integrated.
struct CellLanes {
  Lanes density;                                // n_H [1/cm^3]
  Lanes photo_hi, photo_hei, photo_heii;        // ionisation over n_H [cm^3/s]
  Lanes heating_hi, heating_hei, heating_heii;  // [erg/s]
  Lanes log_shielding;                          // ln of n_H / n_SSh at T = 1 K
};

/// Fractions of equilibrium, over n_H.
struct IonFractions {
  Lanes electrons, hi, hii, hei, heii, heiii;
};

/// Gas at a temperature.
struct GasState {
  Lanes log_temperature, temperature, theta;
  Lanes heating, cooling, compton;  // over n_H, n_H^2 and n_H
  IonFractions fractions;
  Mask unsolved;
};

/// Photoionisation that reaches the cells, over n_H.
struct IonizingLight {
  Lanes hi, hei, heii;
  Lanes share;  // of the light that ionises H I and He I
};
[[gnu::always_inline]] inline IonizingLight light_at(const HeatingMoment& moment, const CellLanes& cells,
                                                     Lanes log_temperature) {
  const Lanes share = moment.shielding == nullptr
                          ? all(1.0)
                          : shielded_share(moment.shielding, cells.log_shielding - 0.17 * log_temperature);
  return {cells.photo_hi * share, cells.photo_hei * share, cells.photo_heii, share};
}

/// Ionisation equilibrium for given electrons (Katz et al. 1996, equations 33 to 38), each fraction as a ratio of
/// products, without differences: He I, He II and He III are to each other as `hei`, `heii` and `heiii`.
struct IonizationBalance {
  [[gnu::always_inline]] IonizationBalance(const IonizationRates& rates, const IonizingLight& light, Lanes x)
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
[[gnu::always_inline]] inline Lanes next_electrons(const IonizationRates& rates, const IonizingLight& light, double y,
                                                   Lanes x) {
  const IonizationBalance b(rates, light, x);
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
[[gnu::always_inline]] inline Lanes solved_electrons(const IonizationRates& rates, const IonizingLight& light, double y,
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
static GasState state_at(const HeatingMoment& moment, const CellLanes& cells, Lanes log_temperature, Lanes electrons) {
  GasState state;
  state.log_temperature = log_temperature;
  state.temperature = exponential(log_temperature);
  const ProcessRates rates = rates_at(moment.rates, log_temperature, state.temperature);
  const IonizingLight light = light_at(moment, cells, log_temperature);
  const double y = moment.helium;
  const Lanes x = solved_electrons(rates, light, y, electrons, state.unsolved);

  const IonizationBalance b(rates, light, x);
  const Lanes inverse = 1.0 / (b.hydrogen * b.helium);
  const Lanes over_hydrogen = inverse * b.helium, over_helium = y * (inverse * b.hydrogen);
  const IonFractions f{
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
[[gnu::always_inline]] inline Lanes rate_of(const CellLanes& cells, const GasState& state) {
  return (state.heating - cells.density * state.cooling - state.compton) * (2.0 / (3.0 * boltzmann));
}

}  // namespace sidestream::solvers
