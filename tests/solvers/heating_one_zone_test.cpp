#include <gtest/gtest.h>

#include <cmath>

#include "sidestream/solvers/background.hpp"
#include "support/heated_gas.hpp"

namespace sidestream::solvers {
namespace {

// Of a driver of this kind against an independent integration: 3 % of the temperature, 0.02 of the slope.
constexpr double temperature_accuracy = 0.03, slope_accuracy = 0.02;

/// Parcels of gas that grow by linear theory, 1 + delta = 1 / (1 - lambda D), and have some overdensity at z = 3.
class Parcels {
 public:
  Parcels(const HeatingCooling& heating, const Background& background) : heating_(heating), background_(background) {
    for (int n = -10; n <= 10; ++n)
      lambda_.push_back((1.0 - std::pow(3.0, -0.1 * n)) / background.growth(scale_factor(3.0)));
    for (std::size_t n = 0; n < lambda_.size(); ++n)
      energy_.push_back(test::at_temperature(heating.at(20.0, cgs_units), 1e-3, 10.0).energy);
  }

  /// From one scale factor to the next; expansion and collapse are a source.
  void advance(double a0, double a1) {
    const double middle = std::sqrt(a0 * a1), dt = (background_.time(a1) - background_.time(a0)) * 3.0856776e19;
    std::vector<double> density, source;
    for (std::size_t n = 0; n < lambda_.size(); ++n) {
      const double adiabatic = std::pow(density_of(n, a1) / density_of(n, a0), 2.0 / 3.0);
      density.push_back(density_of(n, middle));
      source.push_back(energy_[n] * (adiabatic - 1.0) / dt);
    }
    const auto counts = heating_.at(redshift(middle), cgs_units).advance(dt, density, source, energy_);
    EXPECT_EQ(counts.failed, 0) << counts.first_failed;
  }

  struct Relation {
    double temperature, slope;  ///< T0 [K] and gamma of T = T0 Delta^(gamma - 1)
  };
  /// By least squares over parcels of a third to three times the mean density.
  Relation relation(double a) const {
    double count = 0.0, sum_x = 0.0, sum_y = 0.0, sum_xx = 0.0, sum_xy = 0.0;
    for (std::size_t n = 0; n < lambda_.size(); ++n) {
      const double x = std::log(overdensity(n, a));
      if (std::abs(x) > std::log(3.01)) continue;
      const double hydrogen = density_of(n, a) / test::gram_per_hydrogen;
      const double y = std::log(test::at_energy(heating_.at(redshift(a), cgs_units), hydrogen, energy_[n]).temperature);
      count += 1.0, sum_x += x, sum_y += y, sum_xx += x * x, sum_xy += x * y;
    }
    const double slope = (count * sum_xy - sum_x * sum_y) / (count * sum_xx - sum_x * sum_x);
    return {std::exp((sum_y - slope * sum_x) / count), 1.0 + slope};
  }

  double neutral_at_mean(double a) const {
    const std::size_t mean = lambda_.size() / 2;
    return test::at_energy(heating_.at(redshift(a), cgs_units), density_of(mean, a) / test::gram_per_hydrogen,
                           energy_[mean])
        .hi;
  }

 private:
  double overdensity(std::size_t n, double a) const { return 1.0 / (1.0 - lambda_[n] * background_.growth(a)); }
  double density_of(std::size_t n, double a) const {
    return overdensity(n, a) * background_.parameters().baryon_density() * 6.7679e-41 / (a * a * a);
  }

  const HeatingCooling& heating_;
  const Background& background_;
  std::vector<double> lambda_, energy_;
};

struct Expected {
  std::string background;
  std::vector<double> temperature, slope;  // at z = 6, 5, 4, 3, 2
  double neutral;                          // x_HI at mean density, z = 3
};

class OneZone : public testing::TestWithParam<Expected> {};

TEST_P(OneZone, TemperatureFollowsDensityAsExpected) {
  const Background background(test::cosmology_n());
  const HeatingCooling heating = test::published_heating(GetParam().background);
  Parcels parcels(heating, background);
  double a = scale_factor(20.0);
  for (std::size_t n = 0; n < 5; ++n) {
    const double end = scale_factor(6.0 - static_cast<double>(n));
    const int steps = static_cast<int>(std::log(end / a) / 0.004) + 1;
    const double ratio = std::pow(end / a, 1.0 / steps);
    for (int step = 0; step < steps; ++step, a *= ratio) parcels.advance(a, a * ratio);
    const auto [temperature, slope] = parcels.relation(a);
    EXPECT_NEAR(temperature, GetParam().temperature[n], temperature_accuracy * GetParam().temperature[n])
        << 6 - static_cast<int>(n);
    EXPECT_NEAR(slope, GetParam().slope[n], slope_accuracy) << 6 - static_cast<int>(n);
    if (n == 3) {
      EXPECT_NEAR(parcels.neutral_at_mean(a), GetParam().neutral, temperature_accuracy * GetParam().neutral);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Backgrounds, OneZone,
    testing::Values(
        Expected{"onorbe17_middle", {7772, 7773, 8999, 11880, 9987}, {1.53, 1.51, 1.45, 1.48, 1.55}, 5.80e-6},
        Expected{"hm2012", {7742, 7601, 9512, 10730, 9413}, {1.54, 1.53, 1.49, 1.54, 1.57}, 6.90e-6},
        Expected{"fg20", {7301, 7138, 6792, 10930, 8602}, {1.51, 1.54, 1.55, 1.50, 1.55}, 6.16e-6},
        Expected{"puchwein19", {11390, 9524, 10730, 15670, 11680}, {1.35, 1.39, 1.37, 1.46, 1.53}, 4.09e-6}),
    [](const auto& suite) { return suite.param.background; });

}  // namespace
}  // namespace sidestream::solvers
