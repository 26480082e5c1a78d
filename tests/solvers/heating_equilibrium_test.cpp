#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "support/csv.hpp"
#include "support/heated_gas.hpp"
#include "support/primordial_gas.hpp"

namespace sidestream::solvers {
namespace {

constexpr double accuracy = 1e-4;  // of fractions and rates against an independent evaluation

void expect_near(double value, double expected, const std::string& what) {
  EXPECT_NEAR(value, expected, accuracy * std::abs(expected)) << what;
}

TEST(IonizationEquilibrium, IsThatOfAnIndependentEvaluation) {
  const HeatingCooling heating = test::published_heating();
  const auto rows = test::read_csv("ion_equilibrium_onorbe17.csv");
  ASSERT_EQ(rows.size(), 120U);
  for (const auto& row : rows) {
    const test::CellEquilibrium cell = test::at_temperature(heating.at(row[0], cgs_units), row[1], row[2]);
    const std::array<double, 9> values{cell.electrons, cell.hi,      cell.hii,     cell.hei,    cell.heii,
                                       cell.heiii,     cell.heating, cell.cooling, cell.compton};
    for (std::size_t n = 0; n < values.size(); ++n)
      expect_near(values[n], row[n + 3],
                  "z " + std::to_string(row[0]) + ", n_H " + std::to_string(row[1]) + ", T " + std::to_string(row[2]) +
                      ", column " + std::to_string(n + 3));
  }
}

/// Gas without a background.
struct Collisional {
  double temperature, cooling_lukic, cooling_katz, hi;  // [K], over n_H^2 [erg cm^3/s]; 0: not known
};

TEST(IonizationEquilibrium, OfCollisionsAloneHasKnownCooling) {
  const std::vector<Collisional> known{{1e4, 6.884e-27, 5.050e-27, 0.99822},  {1.5e4, 4.410e-23, 4.045e-23, 0.63102},
                                       {2e4, 9.714e-23, 1.587e-22, 0.077573}, {3e4, 3.832e-23, 7.037e-23, 3.511e-3},
                                       {5e4, 1.970e-23, 2.930e-23, 0.0},      {1e5, 6.277e-23, 5.436e-23, 1.747e-5},
                                       {2e5, 1.610e-23, 1.458e-23, 0.0},      {1e6, 5.520e-24, 5.669e-24, 0.0},
                                       {1e7, 1.371e-23, 9.774e-24, 0.0}};
  const HeatingCooling lukic = test::dark_heating(), katz = test::dark_heating("katz1996");
  for (const Collisional& gas : known) {
    const double digits = gas.temperature < 1.2e4 ? 1e-2 : 5e-4;  // four are given; the first hangs on exp(-16)
    const auto cell = test::at_temperature(lukic.at(3.0, cgs_units), 1.0, gas.temperature);
    const auto other = test::at_temperature(katz.at(3.0, cgs_units), 1.0, gas.temperature);
    EXPECT_NEAR(cell.cooling, gas.cooling_lukic, digits * gas.cooling_lukic) << gas.temperature;
    EXPECT_NEAR(other.cooling, gas.cooling_katz, digits * gas.cooling_katz) << gas.temperature;
    if (gas.hi > 0.0) {
      EXPECT_NEAR(cell.hi, gas.hi, 3e-4 * gas.hi) << gas.temperature;
    }
    EXPECT_EQ(cell.heating, 0.0);
  }
}

TEST(IonizationEquilibrium, RatesOfKatzLeaveMoreNeutralHydrogen) {
  const auto lukic = test::at_temperature(test::published_heating().at(3.0, cgs_units), 1e-5, 1e4);
  const auto katz =
      test::at_temperature(test::published_heating("onorbe17_middle", "katz1996").at(3.0, cgs_units), 1e-5, 1e4);
  EXPECT_NEAR(katz.hi / lukic.hi, 1.216, 1e-3);
}

/// Temperatures, densities and backgrounds over all that gas can be.
template <typename F>
void for_each_gas(const HeatingCooling& heating, F f) {
  for (const double z : {0.0, 3.0, 6.0, 12.0, 20.0})
    for (double log_n = -8.0; log_n < 2.5; log_n += 1.0)
      for (double log_t = 1.0; log_t < 8.5; log_t += 0.37)
        f(heating.at(z, cgs_units), std::pow(10.0, log_n), std::pow(10.0, log_t));
}

void expect_plain(const HeatingConfig& config) {
  const HeatingCooling heating(config, test::cosmology_n());
  for_each_gas(heating, [&](const HeatingCooling::Epoch& epoch, double n, double t) {
    const auto cell = test::at_temperature(epoch, n, t);
    const test::PrimordialGas gas(epoch.moment(), rate_fits(config.rates), n * test::gram_per_hydrogen);
    const auto plain = gas.at_temperature(t);
    const std::string what = "n_H " + std::to_string(n) + ", T " + std::to_string(t);
    if (plain.electrons > 1e-25) expect_near(cell.electrons, plain.electrons, "electrons, " + what);
    if (plain.hi > 1e-25) expect_near(cell.hi, plain.hi, "H I, " + what);
    if (plain.heii > 1e-25) expect_near(cell.heii, plain.heii, "He II, " + what);
    EXPECT_NEAR(cell.heating - cell.cooling - cell.compton, plain.heating - plain.cooling - plain.compton,
                accuracy * (plain.heating + plain.cooling + std::abs(plain.compton)) + 1e-60)
        << what;
  });
}

TEST(IonizationEquilibrium, IsThatOfThePlainTwin) {
  expect_plain({});
  expect_plain({.uv_background = "hm2012", .rates = "katz1996"});
  expect_plain({.self_shielding = true, .ionization_factor = 0.7, .heating_factor = 2.0, .heating_exponent = -0.5});
}

TEST(IonizationEquilibrium, OfAnEnergyIsThatOfItsTemperature) {
  const HeatingCooling heating({.self_shielding = true}, test::cosmology_n());
  for_each_gas(heating, [](const HeatingCooling::Epoch& epoch, double n, double t) {
    const auto cell = test::at_temperature(epoch, n, t);
    const auto again = test::at_energy(epoch, n, cell.energy);
    EXPECT_NEAR(again.temperature, t, 1e-9 * t);
    // Fractions follow the temperature with powers of up to 60.
    EXPECT_NEAR(again.electrons, cell.electrons, 1e-7 * cell.electrons + 1e-25);
    // To the bit: whoever has the temperature need not know the energy.
    const auto by_temperature = test::at_temperature(epoch, n, again.temperature);
    EXPECT_EQ(by_temperature.hi, again.hi);
    EXPECT_EQ(by_temperature.heii, again.heii);
    EXPECT_EQ(by_temperature.electrons, again.electrons);
  });
}

TEST(IonizationEquilibrium, SelfShieldedGasIsNeutralWhereItIsDense) {
  const HeatingCooling open({}, test::cosmology_n()), shielded({.self_shielding = true}, test::cosmology_n());
  const auto hi = [](const HeatingCooling& heating, double n) {
    return test::at_temperature(heating.at(3.0, cgs_units), n, 1e4).hi;
  };
  EXPECT_NEAR(hi(shielded, 1e-5) / hi(open, 1e-5), 1.0, 1e-3);
  // n_SSh = 6.25e-3 / cm^3, so at 16 times that 1.9e-3 of the light is left: x_e^2 / (1 - x_e) = 1.9e-3 Gamma / (n
  // alpha).
  EXPECT_NEAR(hi(shielded, 0.1), 0.82, 0.01);
  EXPECT_LT(hi(open, 0.1), 0.2);
}

TEST(IonizationEquilibrium, FactorsMultiplyTheBackground) {
  const HeatingConfig config{
      .ionization_factor = 0.7, .heating_factor = 2.0, .heating_exponent = -0.5, .hydrogen_reionization = 7.0};
  const HeatingCooling plain({}, test::cosmology_n()), heating(config, test::cosmology_n());
  const UvRates table = make_uv_background("onorbe17_middle").at(3.0), rates = heating.uv_rates(3.0);
  EXPECT_EQ(rates.ionization_heii, 0.7 * table.ionization_heii);
  EXPECT_EQ(rates.heating_hi, 2.0 * table.heating_hi);
  EXPECT_EQ(heating.uv_rates(7.1).ionization_hi, 0.0);

  // At four times the mean density, heat for each neutral atom is 2 Delta^-0.5 = 1 times that of the table.
  const double hydrogen = 4.0 * test::cosmology_n().baryon_density() * 6.7679e-41 * 64.0 / test::gram_per_hydrogen;
  const auto cell = test::at_temperature(heating.at(3.0, cgs_units), hydrogen, 1e4);
  const double heat = cell.hi * table.heating_hi + cell.hei * table.heating_hei + cell.heii * table.heating_heii;
  expect_near(cell.heating, heat * hydrogen, "heating");
}

TEST(IonizationEquilibrium, UnitsOfTheGasAreThoseOfTheCaller) {
  const double a = 0.25, comoving = 5e9, temperature = 1.2e4;
  const HeatingCooling heating = test::published_heating();
  const GasUnits units = supercomoving_units(a);
  double energy = 0.0, neutral = 0.0;
  GasEquilibrium rows;
  rows.energy = {&energy, 1};
  rows.hi = {&neutral, 1};
  heating.at(3.0, units).equilibrium_at_temperature({&comoving, 1}, {&temperature, 1}, rows);

  const double hydrogen = comoving * units.density / test::gram_per_hydrogen;
  const auto cell = test::at_temperature(heating.at(3.0, cgs_units), hydrogen, temperature);
  EXPECT_NEAR(neutral, cell.hi, 1e-12 * cell.hi);
  EXPECT_NEAR(energy, cell.energy * 1e-10 * a * a, 1e-12 * energy);  // a^2 e, (km/s)^2
  EXPECT_NEAR(heating.at(3.0, units).moment().mean_density, test::cosmology_n().baryon_density(), 1e-3);
  // The mean density of baryons of cosmology N at z = 3 is n_H = 1.238e-5 / cm^3.
  EXPECT_NEAR(test::cosmology_n().baryon_density() * units.density / test::gram_per_hydrogen, 1.238e-5, 1e-8);
}

TEST(IonizationEquilibrium, ThatIsNotGasIsAnError) {
  const HeatingCooling heating = test::published_heating();
  EXPECT_THROW(test::at_temperature(heating.at(3.0, cgs_units), 1e-5, -1.0), core::Error);
  EXPECT_THROW(test::at_energy(heating.at(3.0, cgs_units), -1e-5, 1e12), core::Error);
}

}  // namespace
}  // namespace sidestream::solvers
