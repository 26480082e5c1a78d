#include "sims/cosmology/energies.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace sidestream::sims {
namespace {

// Linear growth in a universe of matter alone: K and W grow as a, with 3 K = -2 W.
Energies growing(double a) {
  return {1.6 * a, 0.3 * a, 0.1 * a, 0.0, -3.0 * a};
}

TEST(EnergyBalance, IsExactWhileStructureGrowsLinearly) {
  EnergyBalance balance(5.0 / 3.0);

  for (const double a : {0.02, 0.05, 0.051, 0.4}) balance.add(0, a, growing(a), 0.0);

  EXPECT_NEAR(balance.residual(), 0.0, 1e-15);
}

TEST(EnergyBalance, TakesWhatExpandingGasLosesIntoAccount) {
  const double gamma = 1.4;
  EnergyBalance balance(gamma);

  for (int n = 0; n <= 100; ++n) {
    const double a = 0.1 * std::pow(1.01, n);
    balance.add(0, a, {.thermal = std::pow(a, -3.0 * (gamma - 1.0))}, 0.0);
  }

  // The interpolation between measurements: 0.01^2 / 12 of what is lost, 11, times the square of a power.
  EXPECT_NEAR(balance.residual(), 0.0, 4e-4);
}

TEST(EnergyBalance, NamesEnergyThatComesFromNowhere) {
  EnergyBalance balance(5.0 / 3.0);
  balance.add(0, 0.1, growing(0.1), 0.0);

  Energies more = growing(0.11);
  more.thermal += 0.05;
  balance.add(0, 0.11, more, 0.02);

  // Heat of 0.05 came in during the step and lost some of itself; 0.02 of it is booked.
  EXPECT_NEAR(balance.residual(), 0.03 + 0.05 * 2.0 * (1.0 - 0.1 * std::log(1.1) / 0.01), 1e-12);
}

TEST(EnergyBalance, GoesOnFromACheckpointToTheBit) {
  EnergyBalance whole(1.4), first(1.4), second(1.4);
  for (const double a : {0.02, 0.05, 0.4}) whole.add(7, a, growing(a * a), 0.0);

  for (const double a : {0.02, 0.05}) first.add(7, a, growing(a * a), 0.0);
  second.restore(first.attributes());
  EXPECT_FALSE(second.is_due(17, 0.054));
  EXPECT_FALSE(second.is_due(16, 0.056));
  EXPECT_TRUE(second.is_due(17, 0.056));
  second.add(7, 0.4, growing(0.4 * 0.4), 0.0);

  EXPECT_EQ(second.to_json(), whole.to_json());
}

}  // namespace
}  // namespace sidestream::sims
