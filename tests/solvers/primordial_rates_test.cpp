#include "sidestream/solvers/primordial_rates.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/core/error.hpp"
#include "solvers/chemistry/rate_table.hpp"
#include "support/csv.hpp"

namespace sidestream::solvers {
namespace {

constexpr double accuracy = 1e-5;  // of the fits against an independent evaluation, and of the table against the fits

std::array<double, 15> columns_of(const PrimordialRates& r) {
  return {r.recombination_hii,
          r.recombination_heii,
          r.recombination_heiii,
          r.dielectronic_heii,
          r.ionization_hi,
          r.ionization_hei,
          r.ionization_heii,
          r.cooling_hi,
          r.cooling_hei,
          r.cooling_heii,
          r.recombination_cooling_hii,
          r.recombination_cooling_heii,
          r.recombination_cooling_heiii,
          r.free_free_1,
          r.free_free_2};
}

void expect_rates_of(const std::string& file, RateFits fits) {
  const auto rows = test::read_csv(file);
  ASSERT_GE(rows.size(), 20U);
  for (const auto& row : rows) {
    const auto rates = columns_of(primordial_rates(std::pow(10.0, row[0]), fits));
    for (std::size_t n = 0; n < rates.size(); ++n)
      EXPECT_NEAR(rates[n], row[n + 1], accuracy * std::abs(row[n + 1]))
          << file << " log T " << row[0] << " column " << n;
  }
}

TEST(PrimordialRates, AreThoseOfAnIndependentEvaluation) {
  expect_rates_of("rates_lukic2015.csv", RateFits::lukic2015_as_published);
  expect_rates_of("rates_katz1996.csv", RateFits::katz1996);
}

TEST(PrimordialRates, RecombinationCoolsNoMoreThanElsewhereInHotGas) {
  const auto at = [](double t, RateFits fits) { return primordial_rates(t, fits).recombination_cooling_hii; };
  EXPECT_EQ(at(1.9e6, RateFits::lukic2015), at(1.9e6, RateFits::lukic2015_as_published));
  EXPECT_NEAR(at(2.000001e6, RateFits::lukic2015) / at(2e6, RateFits::lukic2015), 1.0, 1e-5);
  for (const double t : {5e6, 1e7, 1e8}) EXPECT_LT(at(t, RateFits::lukic2015), at(t, RateFits::katz1996)) << t;
  EXPECT_GT(at(1e8, RateFits::lukic2015_as_published), 10.0 * at(1e8, RateFits::katz1996));
}

TEST(PrimordialRates, AreChosenByName) {
  EXPECT_EQ(rate_fits("katz1996"), RateFits::katz1996);
  EXPECT_EQ(rate_fits("lukic2015-as-published"), RateFits::lukic2015_as_published);
  EXPECT_THROW(rate_fits("lukic"), core::Error);
}

/// The values of the table at a temperature, by the definition of Hermite's cubics.
std::array<double, table_width> interpolated(const std::vector<double>& table, double ln_t) {
  const double nodes = ln_t * nodes_per_unit, f = nodes - std::floor(nodes);
  const double* node = table.data() + static_cast<std::size_t>(nodes) * 2 * table_width;
  std::array<double, table_width> values;
  for (std::size_t q = 0; q < table_width; ++q)
    values[q] = (1.0 + 2.0 * f) * (1.0 - f) * (1.0 - f) * node[q] + f * (1.0 - f) * (1.0 - f) * node[table_width + q] +
                f * f * (3.0 - 2.0 * f) * node[2 * table_width + q] + f * f * (f - 1.0) * node[3 * table_width + q];
  return values;
}

/// Whether a fit jumps or has an edge in the interval of the table.
bool holds_a_jump(double ln_t) {
  for (const double t : {1e5, 1e6, 2e6, 3.2e5, 4.0 * 3.2e5})
    if (std::floor(std::log(t) * nodes_per_unit) == std::floor(ln_t * nodes_per_unit)) return true;
  return false;
}

TEST(RateTable, IsWithinItsAccuracyOfTheFits) {
  for (const RateFits fits : {RateFits::lukic2015, RateFits::lukic2015_as_published, RateFits::katz1996}) {
    const auto table = rate_table(fits);
    const BoltzmannPowers powers;
    for (double ln_t = std::log(1e3) + 0.001; ln_t < std::log(1e9); ln_t += 0.00317) {
      if (holds_a_jump(ln_t)) continue;
      const double t = std::exp(ln_t);
      const auto factor = [t](int power) { return std::exp(-power * boltzmann_unit / t); };
      const auto v = interpolated(table, ln_t);
      const PrimordialRates r = primordial_rates(t, fits);
      const auto expect = [t](double value, double expected) {
        if (expected > 1e-60) {  // below that a rate means nothing
          EXPECT_NEAR(value, expected, accuracy * expected) << t << " K";
        }
      };
      expect(v[table_recombination_hii], r.recombination_hii);
      expect(v[table_recombination_heii], r.recombination_heii + r.dielectronic_heii);
      expect(v[table_recombination_heiii], r.recombination_heiii);
      expect(v[table_ionization_hi] * factor(powers.ionization_hi), r.ionization_hi);
      expect(v[table_ionization_hei] * factor(powers.ionization_hei), r.ionization_hei);
      expect(v[table_ionization_heii] * factor(powers.ionization_heii), r.ionization_heii);
      expect(v[table_cooling_hi] * factor(powers.cooling_hi), r.cooling_hi);
      expect(v[table_cooling_hei] * factor(powers.cooling_hei), r.cooling_hei);
      expect(v[table_collisions_heii] * factor(powers.cooling_heii), r.cooling_heii);
      expect(v[table_cooling_hii], r.recombination_cooling_hii + r.free_free_1);
      expect(v[table_cooling_heii], r.recombination_cooling_heii + r.free_free_1);
      expect(v[table_cooling_heiii], r.recombination_cooling_heiii + r.free_free_2);
    }
  }
}

TEST(SelfShielding, LeavesThinGasInTheLightAndDenseGasInTheDark) {
  EXPECT_NEAR(self_shielding(-12.0), 1.0, 1e-6);
  EXPECT_NEAR(self_shielding(0.0), 0.98 * std::pow(2.0, -2.28) + 0.02 * std::pow(2.0, -0.84), 1e-12);
  EXPECT_NEAR(self_shielding(std::log(1e4)), 0.02 * std::pow(1e4, -0.84), 1e-4 * 0.02 * std::pow(1e4, -0.84));
}

}  // namespace
}  // namespace sidestream::solvers
