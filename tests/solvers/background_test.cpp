#include "sidestream/solvers/background.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/core/units.hpp"
#include "support/cosmologies.hpp"
#include "support/csv.hpp"

namespace sidestream::solvers {
namespace {

// Tolerances, relative. The quadrature is good to round-off; the tables were computed to 1e-9 and printed with ten
// digits, the check values with seven.
constexpr double closed_form = 1e-12, printed_table = 1e-8, check_value = 1e-6;

void expect_near_relative(double found, double expected, double tolerance) {
  EXPECT_NEAR(found / expected, 1.0, tolerance) << "found " << found << ", expected " << expected;
}

TEST(Background, EinsteinDeSitterHasItsClosedForms) {
  const Background background(test::einstein_de_sitter());
  const double h0 = 70.0;

  for (const double a : {1e-3, 0.02, 0.3, 1.0}) {
    expect_near_relative(background.time(a), 2.0 / (3.0 * h0) * std::pow(a, 1.5), closed_form);
    expect_near_relative(background.growth(a), a, closed_form);
    expect_near_relative(background.growth_rate(a), 1.0, closed_form);
    expect_near_relative(background.kick_integral(a, 1.7 * a), 2.0 / h0 * (std::sqrt(1.7 * a) - std::sqrt(a)),
                         closed_form);
    expect_near_relative(background.drift_integral(a, 1.7 * a),
                         2.0 / h0 * (1.0 / std::sqrt(a) - 1.0 / std::sqrt(1.7 * a)), closed_form);
  }
}

TEST(Background, AgeOfAFlatUniverseHasItsClosedForm) {
  const Background background(test::cosmology_a());

  for (const double a : {1e-4, 0.01, 0.25, 0.7, 1.0, 3.0}) {
    const double age = 2.0 / (3.0 * 70.0 * std::sqrt(0.7)) * std::asinh(std::sqrt(0.7 / 0.3) * std::pow(a, 1.5));

    expect_near_relative(background.time(a), age, closed_form);
  }
}

TEST(Background, AgreesWithTheReferenceTable) {
  const Background background(test::cosmology_a());

  for (const auto& row : test::read_csv("growth_A.csv")) {
    expect_near_relative(background.growth(row[0]), row[1], printed_table);
    expect_near_relative(background.growth_rate(row[0]), row[2], printed_table);
    expect_near_relative(background.hubble(row[0]), row[3], printed_table);
    expect_near_relative(background.time(row[0]), row[4], printed_table);
  }
}

TEST(Background, AgreesWithThePublishedCheckValues) {
  const Background background(test::cosmology_a());
  const double gyr = core::units::gyr_per_time_unit;

  expect_near_relative(background.time(1.0) * gyr, 13.46698, check_value);
  expect_near_relative(background.time(0.5) * gyr, 5.751647, check_value);
  expect_near_relative(background.time(0.25) * gyr, 2.112527, check_value);
  expect_near_relative(background.growth(0.5), 0.6118058, check_value);
  expect_near_relative(background.growth(1.0 / 160.0), 0.00802330, check_value);
  expect_near_relative(background.growth_rate(1.0), 0.5127962, check_value);
}

TEST(Background, InversesUndoTheirIntegrals) {
  const Background background(test::cosmology_a());

  for (const double a : {0.005, 0.02, 0.31, 0.9}) {
    expect_near_relative(background.scale_factor_at(background.time(a)), a, closed_form);
    for (const double ratio : {1.0 + 1e-6, 1.01, 2.0, 30.0})
      expect_near_relative(background.scale_factor_after(a, background.drift_integral(a, ratio * a)), ratio * a,
                           closed_form);
  }
}

TEST(Background, IntegralsOfPartsAddUp) {
  const Background background(test::cosmology_a());

  const double drift = background.drift_integral(0.01, 0.2) + background.drift_integral(0.2, 1.0);
  const double kick = background.kick_integral(0.01, 0.2) + background.kick_integral(0.2, 1.0);

  expect_near_relative(drift, background.drift_integral(0.01, 1.0), closed_form);
  expect_near_relative(kick, background.kick_integral(0.01, 1.0), closed_form);
}

TEST(Background, GrowthInAnOpenUniverseHasItsClosedForm) {
  CosmologyParameters open = test::cosmology_a();
  open.omega_lambda = 0.0;
  const Background background(open);
  const auto growth = [](double a) {  // Peebles 1980, equation 11.16
    const double x = a * (1.0 / 0.3 - 1.0);
    return 1.0 + 3.0 / x + 3.0 * std::sqrt((1.0 + x) / (x * x * x)) * std::log(std::sqrt(1.0 + x) - std::sqrt(x));
  };

  for (const double a : {0.05, 0.2, 0.6}) expect_near_relative(background.growth(a), growth(a) / growth(1.0), 1e-9);
}

TEST(Background, MomentsThatNeverComeAreRefused) {
  const Background background(test::einstein_de_sitter());

  EXPECT_THROW(background.scale_factor_after(0.25, 2.0 / 70.0 * 2.01), core::Error);
}

TEST(Background, LeapfrogMeetsHalfWayInSupercomovingTime) {
  const Background background(test::cosmology_a());

  const LeapfrogStep step = leapfrog_step(background, 0.1, 0.2);

  expect_near_relative(background.drift_integral(0.1, step.a_half), 0.5 * step.drift, closed_form);
  expect_near_relative(step.first_kick + step.second_kick,
                       4.0 * M_PI * core::units::gravitational_constant * background.kick_integral(0.1, 0.2),
                       closed_form);
}

TEST(CosmologyParameters, ImpossibleOnesAreRefused) {
  CosmologyParameters parameters = test::cosmology_a();
  parameters.omega_b = 0.4;

  EXPECT_THROW(check(parameters), core::Error);
}

TEST(CosmologyParameters, MeanDensityOfMatterIsThatOfTheReference) {
  expect_near_relative(test::cosmology_a().matter_density(), 4.07979e10, 1e-5);
}

TEST(CosmologyParameters, ConfigurationReadsThem) {
  const auto parameters = cosmology_table().read(core::parse_toml("omega_m = 0.27\nhubble = 0.7\n", "test.toml"));

  EXPECT_EQ(parameters.omega_m, 0.27);
  EXPECT_EQ(parameters.hubble, 0.7);
  EXPECT_FALSE(parameters.omega_lambda.has_value());
  EXPECT_THROW(cosmology_table().read(core::parse_toml("omega_c = 0.27\n", "test.toml")), core::Error);
}

}  // namespace
}  // namespace sidestream::solvers
