#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "solvers/chemistry/heating_rows.hpp"
#include "support/heated_gas.hpp"

namespace sidestream::solvers {
namespace {

constexpr double accuracy = 1e-3;  // of temperatures

struct Known {
  double z, hydrogen, begin, myr, end;
};

TEST(HeatingIntegration, EndsAtTemperaturesOfAnIndependentIntegration) {
  const HeatingCooling heating = test::published_heating();
  const std::vector<Known> known{
      {3, 1e-5, 1e4, 10, 1.00495e4},      {3, 1e-5, 1e4, 100, 1.04825e4},      {3, 1e-5, 1e4, 500, 1.21732e4},
      {3, 1.238e-5, 5e3, 100, 6.10982e3}, {3, 1.238e-5, 5e3, 1000, 1.23144e4}, {3, 1e-3, 1e6, 100, 9.51391e5},
      {3, 1e-3, 1e6, 1000, 5.22471e5},    {3, 1e-2, 1e6, 5, 9.80636e5},        {3, 1e-2, 1e6, 10, 9.61270e5},
      {2, 1e-4, 2e4, 100, 2.28669e4},     {2, 1e-4, 2e4, 1000, 3.80469e4},     {0, 0.1, 1e7, 10, 9.09714e6},
      {0, 0.1, 1e7, 80, 4.22951e6}};
  for (const Known& run : known)
    EXPECT_NEAR(test::temperature_after(heating.at(run.z, cgs_units), run.hydrogen, run.begin, run.myr), run.end,
                accuracy * run.end)
        << run.z << ' ' << run.hydrogen << ' ' << run.begin << ' ' << run.myr;
  EXPECT_NEAR(test::temperature_after(test::dark_heating().at(3.0, cgs_units), 1e-2, 3e5, 1.0), 2.93353e5,
              accuracy * 2.93353e5);
}

TEST(HeatingIntegration, EndsInThermalEquilibriumFromAboveAndBelow) {
  const HeatingCooling heating = test::published_heating();
  const std::vector<std::array<double, 2>> known{
      {1e-5, 2.4215e4}, {1e-4, 4.5567e4}, {1e-3, 2.8887e4}, {1e-2, 1.7160e4}, {0.1, 1.2733e4}};
  for (const auto& [hydrogen, temperature] : known)
    for (const double factor : {0.1, 0.7, 1.4, 10.0})
      EXPECT_NEAR(test::temperature_after(heating.at(3.0, cgs_units), hydrogen, factor * temperature, 1e6), temperature,
                  accuracy * temperature)
          << hydrogen << ' ' << factor;
}

TEST(HeatingIntegration, IsOfThirdOrder) {
  const HeatingCooling heating = test::published_heating();
  const auto epoch = heating.at(3.0, cgs_units);
  const double density = 1e-5 * test::gram_per_hydrogen, duration = 64.0 * test::seconds_per_myr;
  const double energy = test::at_temperature(epoch, 1e-5, 1e4).energy;
  const auto after = [&](int steps) {
    double e = energy;
    for (int n = 0; n < steps; ++n) EXPECT_EQ(epoch.advance(duration / steps, {&density, 1}, {}, {&e, 1}).steps, 1);
    return e;
  };
  const double exact = after(128), coarse = after(1) - exact, middle = after(2) - exact, fine = after(4) - exact;
  EXPECT_GT(std::log2(coarse / middle), 2.7);
  EXPECT_GT(std::log2(middle / fine), 2.7);
}

TEST(HeatingIntegration, TimesAndSourcesAreInTheUnitsOfTheCaller) {
  const HeatingCooling heating = test::published_heating();
  const double a = 0.25, megaparsec_per_km = 3.0856776e19, myr = 40.0;
  const auto cgs = heating.at(3.0, cgs_units), supercomoving = heating.at(3.0, supercomoving_units(a));
  const double energy = test::at_temperature(cgs, 1e-4, 1e4).energy,
               source = 0.2 * energy / (myr * test::seconds_per_myr);

  // Density in Msun/Mpc^3, a^2 e in (km/s)^2, dtau = dt / a^2 in Mpc/(km/s).
  const double density = 1e-4 * test::gram_per_hydrogen * a * a * a / 6.7679e-41;
  const double dtau = myr * test::seconds_per_myr / (a * a * megaparsec_per_km);
  const double rate = 0.2 * (energy * 1e-10 * a * a) / dtau;
  double e = energy * 1e-10 * a * a;
  supercomoving.advance(dtau, {&density, 1}, {&rate, 1}, {&e, 1});

  const double expected = test::temperature_after(cgs, 1e-4, 1e4, myr, source);
  EXPECT_NEAR(test::at_energy(cgs, 1e-4, e * 1e10 / (a * a)).temperature, expected, 1e-9 * expected);
}

TEST(HeatingIntegration, ASourceAloneIsIntegratedExactly) {
  // Cold neutral gas in the dark neither heats nor cools but by the source.
  const HeatingCooling heating = test::dark_heating();
  const auto epoch = heating.at(3.0, cgs_units);
  const auto cell = test::at_temperature(epoch, 1e-5, 100.0);
  const double warmer = test::temperature_after(epoch, 1e-5, 100.0, 10.0, cell.energy / (10.0 * test::seconds_per_myr));
  EXPECT_NEAR(warmer, 200.0, 1e-3);
}

TEST(HeatingIntegration, TheFloorHoldsWhatCoolsBelowItAndIsCounted) {
  const HeatingCooling heating({.ionization_factor = 0.0, .heating_factor = 0.0, .temperature_floor = 20.0},
                               test::cosmology_n());
  const auto epoch = heating.at(3.0, cgs_units);  // neutral gas in the dark
  const auto cell = test::at_temperature(epoch, 1e-5, 100.0);
  const std::vector<double> density(5, 1e-5 * test::gram_per_hydrogen);
  std::vector<double> energy{cell.energy, 0.01 * cell.energy, cell.energy, 2.0 * cell.energy, cell.energy};
  const double dt = test::seconds_per_myr;
  const std::vector<double> source{-cell.energy / dt, 0.0, -0.5 * cell.energy / dt, -3.0 * cell.energy / dt, 0.0};

  const HeatingCounts counts = epoch.advance(dt, density, source, energy);

  EXPECT_EQ(counts.at_floor, 3);
  EXPECT_EQ(counts.failed, 0);
  for (const std::size_t n : {0U, 1U, 3U}) EXPECT_NEAR(test::at_energy(epoch, 1e-5, energy[n]).temperature, 20.0, 1e-6);
  EXPECT_NEAR(test::at_energy(epoch, 1e-5, energy[2]).temperature, 50.0, 0.1);
}

TEST(HeatingIntegration, WhatIsNotGasIsAnErrorThatSaysWhich) {
  const HeatingCooling heating = test::published_heating();
  const auto epoch = heating.at(3.0, cgs_units);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::array<double, 3>> wrong{{2e-29, -1e12, 0.0}, {2e-29, nan, 0.0},  {nan, 1e12, 0.0},
                                                 {-2e-29, 1e12, 0.0}, {2e-29, 1e12, nan}, {1e10, 1e12, 0.0}};
  for (const auto& [density, energy, source] : wrong) {
    const std::vector<double> rho{2e-29, 2e-29, density}, heat{0.0, 0.0, source};
    std::vector<double> e{1e12, 1e12, energy};
    try {
      epoch.advance(test::seconds_per_myr, rho, heat, e);
      FAIL() << density << ' ' << energy << ' ' << source;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("cell 2 of a row"));
      EXPECT_EQ(e[0], 1e12);
    }
  }
}

TEST(HeatingIntegration, CellsThatCannotBeIntegratedAreCountedAndLeftAsTheyWere) {
  const HeatingCooling heating = test::published_heating();
  HeatingMoment broken = heating.at(3.0, cgs_units).moment();
  broken.cmb_temperature = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> density(11, 2e-29), before(11, 1e12);
  std::vector<double> energy = before;

  const HeatingTally tally = integrate_row(broken, 11, test::seconds_per_myr, density.data(), nullptr, energy.data());

  EXPECT_EQ(tally.failed, 11);
  EXPECT_EQ(tally.first_failed, 0);
  EXPECT_EQ(energy, before);
}

/// Cells of all densities and energies, some with a source.
struct Rows {
  explicit Rows(std::size_t cells) : density(cells), energy(cells), source(cells) {
    for (std::size_t n = 0; n < cells; ++n) {
      const auto uniform = [n](std::uint64_t stream) { return core::uniform(11, stream, n); };
      density[n] =
          std::ldexp(1.0 + uniform(0), -97 + static_cast<int>(33.0 * uniform(1)));         // n_H of 3e-6 to 3e4 / cm^3
      energy[n] = std::ldexp(1.0 + uniform(2), 28 + static_cast<int>(27.0 * uniform(3)));  // 1 to 1e8 K
      source[n] = energy[n] * 1e-15 * (uniform(4) < 0.5 ? 0.0 : uniform(5) - 0.5);
    }
  }
  std::vector<double> density, energy, source;
};

TEST(HeatingIntegration, RandomGasNeverFails) {
  for (const bool shielding : {false, true}) {
    const HeatingCooling heating({.self_shielding = shielding}, test::cosmology_n());
    for (const double z : {0.0, 3.0, 6.0, 15.0}) {
      Rows rows(1000);
      const auto epoch = heating.at(z, cgs_units);
      const HeatingCounts counts = epoch.advance(30.0 * test::seconds_per_myr, rows.density, rows.source, rows.energy);
      EXPECT_EQ(counts.failed, 0) << counts.first_failed;
      for (const double e : rows.energy) EXPECT_TRUE(std::isfinite(e) && e > 0.0);
    }
  }
}

TEST(HeatingIntegration, ACellDependsOnItselfAlone) {
  const HeatingCooling heating({.self_shielding = true, .temperature_floor = 3000.0}, test::cosmology_n());
  const auto epoch = heating.at(3.0, cgs_units);
  const double dt = 10.0 * test::seconds_per_myr;
  const Rows rows(403);
  std::vector<double> whole = rows.energy;
  EXPECT_GT(epoch.advance(dt, rows.density, rows.source, whole).at_floor, 10);

  std::vector<double> cut = rows.energy, backwards;
  const std::span<const double> density = rows.density, source = rows.source;
  for (std::size_t begin = 0, length = 1; begin < cut.size(); begin += length, length = length % 13 + 1) {
    length = std::min(length, cut.size() - begin);
    epoch.advance(dt, density.subspan(begin, length), source.subspan(begin, length),
                  std::span(cut).subspan(begin, length));
  }
  Rows mirror = rows;
  for (auto* row : {&mirror.density, &mirror.energy, &mirror.source}) std::reverse(row->begin(), row->end());
  epoch.advance(dt, mirror.density, mirror.source, mirror.energy);
  std::reverse(mirror.energy.begin(), mirror.energy.end());

  EXPECT_EQ(cut, whole);
  EXPECT_EQ(mirror.energy, whole);
}

// Run once more for each instruction set (tests/CMakeLists.txt): the sum is the same.
TEST(HeatingBits, AreThoseOfAllProcessors) {
  const HeatingCooling heating({.self_shielding = true, .heating_exponent = 0.3}, test::cosmology_n());
  Rows rows(500);
  const auto epoch = heating.at(3.0, cgs_units);
  std::vector<double> electrons(rows.energy.size());
  GasEquilibrium equilibrium;
  equilibrium.electrons = electrons;
  epoch.advance(10.0 * test::seconds_per_myr, rows.density, rows.source, rows.energy);
  epoch.equilibrium(rows.density, rows.energy, equilibrium);

  std::uint64_t sum = 0;
  for (const auto* row : {&rows.energy, &electrons})
    for (const double value : *row) sum = std::rotl(sum, 7) ^ std::bit_cast<std::uint64_t>(value);
  EXPECT_EQ(sum, 0xAFD35C3A0D119DB9ULL);
}

}  // namespace
}  // namespace sidestream::solvers
