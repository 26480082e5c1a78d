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
  const double lost_of_nowhere = 0.03 * 2.0 * (1.0 - 0.1 * std::log(1.1) / 0.01), lost_of_booked = 0.02 * std::log(1.1);
  EXPECT_NEAR(balance.residual(), 0.03 + lost_of_nowhere + lost_of_booked, 1e-12);
}

// Light ionises gas at rest in one step, late between two measurements, and it expands. Counted as if it had come
// evenly the heat would lose 0.05 of itself too much.
TEST(EnergyBalance, FollowsAJumpOfHeat) {
  EnergyBalance balance(5.0 / 3.0);
  balance.add(0, 0.1, {.thermal = 1.0}, 0.0);
  const double growth = 0.001, heat = 100.0;

  double thermal = 1.0, booked = 0.0, a = 0.1;
  for (std::int64_t step = 1; step <= 100; ++step) {
    a *= 1.0 + growth;
    thermal /= (1.0 + growth) * (1.0 + growth);
    if (step == 90) thermal += booked = heat;
    balance.follow(a, booked);
  }
  balance.add(100, a, {.thermal = thermal}, booked);

  // Half of a step's growth, twice. What heat lost in ten steps, 2 * 0.01 of it, counts as lost linearly over all
  // hundred: 2 * 0.02 * (0.1 / 2) less the 2 * 0.02 * (0.01 / 2) that it is.
  EXPECT_NEAR(balance.residual(), 0.0, (growth + 0.002) * heat);
}

TEST(EnergyBalance, GoesOnFromACheckpointToTheBit) {
  EnergyBalance whole(1.4), first(1.4), second(1.4);
  for (const double a : {0.02, 0.05}) whole.add(7, a, growing(a * a), 0.0);
  whole.follow(0.051, 0.01);
  whole.add(7, 0.4, growing(0.4 * 0.4), 0.02);

  for (const double a : {0.02, 0.05}) first.add(7, a, growing(a * a), 0.0);
  first.follow(0.051, 0.01);
  second.restore(first.attributes());
  EXPECT_FALSE(second.is_due(17, 0.054));
  EXPECT_FALSE(second.is_due(16, 0.056));
  EXPECT_TRUE(second.is_due(17, 0.056));
  second.add(7, 0.4, growing(0.4 * 0.4), 0.02);

  EXPECT_EQ(second.to_json(), whole.to_json());
}

}  // namespace
}  // namespace sidestream::sims
