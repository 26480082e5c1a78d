#include "sidestream/solvers/primordial_rates.hpp"

#include <algorithm>
#include <cmath>

#include "sidestream/core/math.hpp"
#include "sidestream/core/registry.hpp"

namespace sidestream::solvers {

namespace {

using core::exp, core::log, core::log10, core::pow;

constexpr double kelvin_per_ev = 11604.5;
constexpr double end_of_recombination_cooling = 2e6;  // [K] of the fits of Lukic et al., which turn up above it

/// Verner & Ferland 1996 (ApJS 103, 467), equation 4.
double verner_ferland(double t, double a, double b, double t0, double t1) {
  const double r0 = std::sqrt(t / t0), r1 = std::sqrt(t / t1);
  return a / (r0 * pow(1.0 + r0, 1.0 - b) * pow(1.0 + r1, 1.0 + b));
}

/// Scholz & Walters 1991 (ApJ 380, 302): cooling by collisions with H I.
double scholz_walters(double t, double left_out) {
  constexpr std::array<double, 6> cold{2.137913e2, -1.139492e2, 2.506062e1, -2.762755, 1.515352e-1, -3.290382e-3};
  constexpr std::array<double, 6> hot{2.7125446e2, -9.8019455e1, 1.400728e1, -9.780842e-1, 3.356289e-2, -4.553323e-4};
  const auto& terms = t <= 1e5 ? cold : hot;
  const double y = log(t);
  double sum = 0.0;
  for (auto term = terms.rbegin(); term != terms.rend(); ++term) sum = sum * y + *term;
  return 1e-20 * exp(sum - (1.18415e5 - left_out) / t);
}

/// The steps that recombination of H II and He III have in common (Katz et al. 1996, table 2).
double katz_recombination(double t) {
  return pow(t / 1e3, -0.2) / (1.0 + pow(t / 1e6, 0.7));
}
double katz_cooling_hii(double t) {
  return 8.70e-27 * std::sqrt(t) * katz_recombination(t);
}

/// What both sets share: dielectronic recombination of He II and its cooling; cooling by He I and He II, whose
/// correction at high temperature begins at another one.
void add_shared(double t, double correction, const LeftOut& out, PrimordialRates& rates) {
  const double root = std::sqrt(t);
  const double dielectronic = pow(t, -1.5) * exp(-4.7e5 / t) * (1.0 + 0.3 * exp(-9.4e4 / t));
  rates.dielectronic_heii = 1.9e-3 * dielectronic;
  rates.recombination_cooling_heii = 1.55e-26 * pow(t, 0.3647) + 1.24e-13 * dielectronic;
  rates.cooling_hei = 9.38e-22 * root * exp(-(285335.4 - out.cooling_hei) / t) / correction;
  rates.cooling_heii = (5.54e-17 * pow(t, -0.397) * exp(-(473638.0 - out.cooling_heii) / t) +
                        4.95e-22 * root * exp(-(631515.0 - out.cooling_heii) / t)) /
                       correction;
}

double lukic_cooling_hii(double t) {
  return 2.851e-27 * std::sqrt(t) * (5.914 - 0.5 * log(t) + 0.01184 * core::cbrt(t));
}
double lukic_cooling_heiii(double t) {
  return 1.140e-26 * std::sqrt(t) * (6.607 - 0.5 * log(t) + 7.459e-3 * core::cbrt(t));
}
double lukic_free_free(double t, double charge) {
  const double scaled = t / (charge * charge), log_scaled = log10(scaled);
  const double gaunt = scaled <= 3.2e5 ? 0.79464 + 0.1243 * log_scaled : 2.13164 - 0.1240 * log_scaled;
  return 1.426e-27 * std::sqrt(t) * charge * charge * gaunt;
}

PrimordialRates lukic(double t, const LeftOut& out) {
  PrimordialRates rates{};
  rates.recombination_hii = verner_ferland(t, 7.982e-11, 0.748, 3.148, 7.036e5);
  rates.recombination_heii = t <= 1e6 ? verner_ferland(t, 3.294e-11, 0.691, 15.54, 3.676e7)
                                      : verner_ferland(t, 9.356e-10, 0.7892, 4.266e-2, 4.677e6);
  rates.recombination_heiii = verner_ferland(t, 1.891e-10, 0.7524, 9.37, 2.774e6);
  // Voronov 1997 (ADNDT 65, 1).
  const double hi = 13.6 * kelvin_per_ev, hei = 24.6 * kelvin_per_ev, heii = 54.4 * kelvin_per_ev;
  const double u = hi / t, v = hei / t, w = heii / t;
  rates.ionization_hi = 2.91e-8 * pow(u, 0.39) * exp(-(hi - out.ionization_hi) / t) / (0.232 + u);
  rates.ionization_hei = 1.75e-8 * pow(v, 0.35) * exp(-(hei - out.ionization_hei) / t) / (0.18 + v);
  rates.ionization_heii =
      2.05e-9 * (1.0 + std::sqrt(w)) * pow(w, 0.25) * exp(-(heii - out.ionization_heii) / t) / (0.265 + w);
  add_shared(t, 1.0 + std::sqrt(t / 5e7), out, rates);
  rates.cooling_hi = scholz_walters(t, out.cooling_hi);
  rates.recombination_cooling_hii = lukic_cooling_hii(t);
  rates.recombination_cooling_heiii = lukic_cooling_heiii(t);
  rates.free_free_1 = lukic_free_free(t, 1.0);
  rates.free_free_2 = lukic_free_free(t, 2.0);
  return rates;
}

PrimordialRates katz(double t, const LeftOut& out) {
  PrimordialRates rates{};
  const double root = std::sqrt(t), correction = 1.0 + std::sqrt(t / 1e5);
  rates.recombination_hii = 8.4e-11 / root * katz_recombination(t);
  rates.recombination_heii = 1.5e-10 * pow(t, -0.6353);
  rates.recombination_heiii = 3.36e-10 / root * katz_recombination(t);
  rates.ionization_hi = 5.85e-11 * root * exp(-(157809.1 - out.ionization_hi) / t) / correction;
  rates.ionization_hei = 2.38e-11 * root * exp(-(285335.4 - out.ionization_hei) / t) / correction;
  rates.ionization_heii = 5.68e-12 * root * exp(-(631515.0 - out.ionization_heii) / t) / correction;
  add_shared(t, correction, out, rates);
  rates.cooling_hi =
      (7.5e-19 * exp(-(118348.0 - out.cooling_hi) / t) + 1.27e-21 * root * exp(-(157809.1 - out.cooling_hi) / t)) /
      correction;
  rates.recombination_cooling_hii = katz_cooling_hii(t);
  rates.recombination_cooling_heiii = 4.0 * rates.recombination_cooling_hii;
  const double distance = 5.5 - log10(t), gaunt = 1.1 + 0.34 * exp(-distance * distance / 3.0);
  rates.free_free_1 = 1.42e-27 * root * gaunt;
  rates.free_free_2 = 4.0 * rates.free_free_1;
  return rates;
}

}  // namespace

const std::array<std::string, 3>& rate_fits_names() {
  static const std::array<std::string, 3> names{"lukic2015", "lukic2015-as-published", "katz1996"};
  return names;
}

RateFits rate_fits(const std::string& name) {
  const auto& names = rate_fits_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) throw core::unknown_name("set of rates", name, {names.begin(), names.end()});
  return static_cast<RateFits>(found - names.begin());
}

PrimordialRates primordial_rates(double temperature, RateFits fits, const LeftOut& left_out) {
  if (fits == RateFits::katz1996) return katz(temperature, left_out);
  PrimordialRates rates = lukic(temperature, left_out);
  if (fits == RateFits::lukic2015 && temperature > end_of_recombination_cooling) {
    const double end = end_of_recombination_cooling, decline = katz_cooling_hii(temperature) / katz_cooling_hii(end);
    rates.recombination_cooling_hii = lukic_cooling_hii(end) * decline;
    rates.recombination_cooling_heiii = lukic_cooling_heiii(end) * decline;
  }
  return rates;
}

}  // namespace sidestream::solvers
