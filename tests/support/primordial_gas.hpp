#pragma once

#include <algorithm>
#include <cmath>

#include "sidestream/solvers/heating_moment.hpp"
#include "sidestream/solvers/primordial_rates.hpp"
#include "solvers/chemistry/rate_table.hpp"

namespace sidestream::test {

/// The plain twin of the kernels of heating and cooling: one cell of gas by direct evaluation of all fits, its
/// electrons by a search in an interval.
class PrimordialGas {
 public:
  PrimordialGas(const solvers::HeatingMoment& moment, solvers::RateFits fits, double density)
      : moment_(moment), fits_(fits), density_(density), hydrogen_(density * moment.hydrogen_per_density) {}

  struct State {
    double temperature, theta, electrons, hi, hii, hei, heii, heiii;
    double heating, cooling, compton;  ///< [erg/s/cm^3]
  };

  /// Equilibrium of this temperature, and of this energy, both in Kelvin.
  State at_temperature(double temperature) const {
    return state(temperature, electrons_of([&](double x) { return state(temperature, x).electrons; }));
  }
  State at_theta(double theta) const {
    const auto temperature = [&](double x) { return theta / (1.0 + moment_.helium + x); };
    const double x = electrons_of([&](double guess) { return state(temperature(guess), guess).electrons; });
    return state(temperature(x), x);
  }

  /// d theta / dt [K/s] by heating and cooling.
  double rate(const State& s) const {
    return (s.heating - s.cooling - s.compton) / hydrogen_ * 2.0 / (3.0 * 1.380649e-16);
  }

 private:
  /// The fractions that `x` electrons lead to; `electrons` are those that the atoms have lost then.
  State state(double t, double x) const {
    const solvers::PrimordialRates r = solvers::primordial_rates(t, fits_);
    const solvers::UvRates& uv = moment_.uv;
    const double y = moment_.helium, n = hydrogen_, electrons = x * n;
    const double share =
        moment_.shielding == nullptr
            ? 1.0
            : solvers::self_shielding(std::log(n) - moment_.shielding_log_density - 0.17 * std::log(t));
    const double hi = r.ionization_hi + share * uv.ionization_hi / electrons,
                 hei = r.ionization_hei + share * uv.ionization_hei / electrons,
                 heii = r.ionization_heii + uv.ionization_heii / electrons;
    State s{};
    s.temperature = t;
    s.theta = t * (1.0 + y + x);
    s.hi = r.recombination_hii / (r.recombination_hii + hi);
    s.hii = hi / (r.recombination_hii + hi);
    const double up = hei / (r.recombination_heii + r.dielectronic_heii), further = heii / r.recombination_heiii;
    s.hei = y / (1.0 + up * (1.0 + further));
    s.heii = s.hei * up;
    s.heiii = s.heii * further;
    s.electrons = s.hii + s.heii + 2.0 * s.heiii;
    const double amplification = std::pow(density_ / moment_.mean_density, moment_.heating_exponent);
    s.heating =
        n * amplification * (share * (s.hi * uv.heating_hi + s.hei * uv.heating_hei) + s.heii * uv.heating_heii);
    s.cooling = n * electrons *
                (s.hi * r.cooling_hi + s.hei * r.cooling_hei + s.heii * r.cooling_heii +
                 s.hii * (r.recombination_cooling_hii + r.free_free_1) +
                 s.heii * (r.recombination_cooling_heii + r.free_free_1) +
                 s.heiii * (r.recombination_cooling_heiii + r.free_free_2));
    s.compton = moment_.compton * electrons * (t - moment_.cmb_temperature);
    return s;
  }

  /// x = lost(x), which falls with x, by the regula falsi (Illinois) in ln x.
  template <typename F>
  double electrons_of(F lost) const {
    const auto excess = [&](double ln_x) { return ln_x - std::log(std::max(lost(std::exp(ln_x)), 1e-300)); };
    double low = std::log(1e-30), high = std::log(1.0 + 2.0 * moment_.helium), at_low = excess(low),
           at_high = excess(high);
    if (at_low >= 0.0) return std::exp(low);
    if (at_high <= 0.0) return std::exp(high);
    int last = 0;
    for (int n = 0; n < 200 && high - low > 1e-13; ++n) {
      const double middle = n % 8 == 7 ? 0.5 * (low + high) : (low * at_high - high * at_low) / (at_high - at_low);
      const double there = excess(middle);
      if (std::abs(there) < 1e-13) return std::exp(middle);
      (there > 0.0 ? high : low) = middle;
      if (there > 0.0) {
        at_high = there;
        at_low *= last > 0 ? 0.5 : 1.0;
      } else {
        at_low = there;
        at_high *= last < 0 ? 0.5 : 1.0;
      }
      last = there > 0.0 ? 1 : -1;
    }
    return std::exp(0.5 * (low + high));
  }

  solvers::HeatingMoment moment_;
  solvers::RateFits fits_;
  double density_, hydrogen_;
};

}  // namespace sidestream::test
