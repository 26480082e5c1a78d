#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/solvers/heating_cooling.hpp"
#include "support/cvode.hpp"
#include "support/heated_gas.hpp"
#include "support/primordial_gas.hpp"

namespace sidestream::solvers {
namespace {

constexpr double accuracy = 1e-3;        // of temperatures
constexpr double cvode_accuracy = 1e-9;  // of energies

/// A cell and a time: `source` is what it adds to the energy, over the energy at the beginning.
struct Case {
  double z, hydrogen, temperature, source, duration;  // [1/cm^3], [K], [], [s]
};

std::string described(const Case& c) {
  return "z " + std::to_string(c.z) + ", lg n_H " + std::to_string(std::log10(c.hydrogen)) + ", lg T " +
         std::to_string(std::log10(c.temperature)) + ", source " + std::to_string(c.source) + ", " +
         std::to_string(c.duration / test::seconds_per_myr) + " Myr";
}

/// The cases: n_H of 1e-8 to 1e2 / cm^3, T of 10 to 1e8 K; steps of 0.6 and 6 % of the age of the universe
/// of matter alone.
template <typename F>
void for_each_case(F f) {
  for (const double z : {15.0, 6.0, 3.0, 0.0})
    for (double log_n = -8.0; log_n < 2.1; log_n += 1.0)
      for (double log_t = 1.0; log_t < 8.1; log_t += 1.0)
        for (const double source : {0.0, 0.5, -0.2})
          for (const double share : {0.006, 0.06})
            f(Case{z, std::pow(10.0, log_n), std::pow(10.0, log_t), source, share * 4.4e17 / std::pow(1.0 + z, 1.5)});
}

/// What integration makes of a case: the energy as theta [K], whether the floor held it.
struct Outcome {
  double before, after;
  bool at_floor;
};
Outcome outcome(const HeatingCooling::Epoch& epoch, const Case& c) {
  const double density = c.hydrogen * test::gram_per_hydrogen, unit = epoch.moment().theta_per_energy;
  double energy = test::at_temperature(epoch, c.hydrogen, c.temperature).energy;
  const double before = energy, source = c.source * energy / c.duration;
  const HeatingCounts counts = epoch.advance(c.duration, {&density, 1}, {&source, 1}, {&energy, 1});
  EXPECT_EQ(counts.failed, 0) << counts.first_failed;
  return {before * unit, energy * unit, counts.at_floor > 0};
}

/// theta after `c` by CVODE, where `rate` is d theta / dt [K/s] of heating and cooling.
template <typename F>
double by_cvode(const Case& c, double theta, F rate) {
  test::Cvode cvode(
      [&](double ln_theta) {
        const double here = std::exp(ln_theta);
        return (c.source * theta + rate(here) * c.duration) / here;
      },
      cvode_accuracy, cvode_accuracy);
  return std::exp(cvode.integrate(std::log(theta), 1.0));
}

TEST(HeatingAgainstCvode, TheSameRatesLeadToTheSameTemperatures) {
  for (const bool shielding : {false, true}) {
    const HeatingCooling heating({.self_shielding = shielding}, test::cosmology_n());
    for_each_case([&](const Case& c) {
      const auto epoch = heating.at(c.z, cgs_units);
      const double unit = epoch.moment().theta_per_energy;
      const Outcome ours = outcome(epoch, c);
      const auto rate = [&](double theta) {
        const auto cell = test::at_energy(epoch, c.hydrogen, theta / unit);
        return (cell.heating - cell.cooling - cell.compton) / c.hydrogen * 2.0 / (3.0 * 1.380649e-16);
      };
      if (ours.at_floor) {
        EXPECT_LT(rate(ours.after) + c.source * ours.before / c.duration, 0.0) << described(c);
        return;
      }
      const double theirs = by_cvode(c, ours.before, rate);
      const auto temperature = [&](double theta) {
        return test::at_energy(epoch, c.hydrogen, theta / unit).temperature;
      };
      EXPECT_NEAR(temperature(ours.after), temperature(theirs), accuracy * temperature(theirs)) << described(c);
    });
  }
}

// Rates that are evaluated directly, without tables. Where fits jump the table passes over the jump, so that gas that
// is falling freely through it does so earlier or later by up to 1e-4 of its time; shorter steps and no source keep
// that small.
TEST(HeatingAgainstCvode, RatesWithoutTablesLeadToTheSameTemperatures) {
  const HeatingCooling heating({}, test::cosmology_n());
  for_each_case([&](const Case& c) {
    if (c.source != 0.0 || c.duration > 0.01 * 4.4e17) return;
    const auto epoch = heating.at(c.z, cgs_units);
    const Outcome ours = outcome(epoch, c);
    if (ours.at_floor) return;
    const test::PrimordialGas gas(epoch.moment(), RateFits::lukic2015, c.hydrogen * test::gram_per_hydrogen);
    const double theirs = by_cvode(c, ours.before, [&](double theta) { return gas.rate(gas.at_theta(theta)); });
    const double expected = gas.at_theta(theirs).temperature;
    EXPECT_NEAR(gas.at_theta(ours.after).temperature, expected, accuracy * expected) << described(c);
  });
}

}  // namespace
}  // namespace sidestream::solvers
