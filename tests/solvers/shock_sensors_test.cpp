#include <gtest/gtest.h>

#include <cmath>

#include "solvers/hydro_reconstruction.hpp"

namespace sidestream::solvers {
namespace {

const Gas gas(5.0 / 3.0);

/// Gas ahead of density 1 and pressure 1, and behind a shock of this Mach number, at which the gas ahead rests.
struct Shock {
  explicit Shock(double mach)
      : p(1.0 + 2.0 * gas.gamma / (gas.gamma + 1.0) * (mach * mach - 1.0)),
        rho((gas.gamma + 1.0) * mach * mach / ((gas.gamma - 1.0) * mach * mach + 2.0)),
        u(std::sqrt(gas.gamma) * 2.0 / (gas.gamma + 1.0) * (mach - 1.0 / mach)) {}
  double p, rho, u;
};

double strength_of_shock(double mach) {
  const Shock shock(mach);
  return shock_strength(gas, shock.p, {shock.rho, shock.u, shock.p}, {1.0, 0.0, 1.0}, 1.0);
}

TEST(ShockStrength, IsFullInShocksAboveMachTwo) {
  for (const double mach : {2.0, 3.0, 10.0, 1e3}) EXPECT_EQ(strength_of_shock(mach), 1.0) << mach;
}

TEST(ShockStrength, IsTheSameSeenFromEitherSide) {
  const Shock shock(3.0);
  EXPECT_EQ(shock_strength(gas, 1.0, {1.0, 0.0, 1.0}, {shock.rho, -shock.u, shock.p}, shock.p), 1.0);
}

TEST(ShockStrength, IsNothingInSubsonicJumps) {
  EXPECT_EQ(strength_of_shock(1.5), 0.0);  // the velocity falls by 0.6 of the speed of sound
}

TEST(ShockStrength, IsNothingInColdGasThatConverges) {
  // Pressures 30 times as high in the middle, in gas that falls together at Mach 100.
  const double u = 100.0 * std::sqrt(gas.gamma);
  EXPECT_EQ(shock_strength(gas, 1.0, {1.0, u, 1.0}, {8.0, 0.0, 30.0}, 32.0), 0.0);
}

TEST(ShockStrength, IsNothingInAnAtmosphere) {
  EXPECT_EQ(shock_strength(gas, 9.0, {4.0, 0.1, 8.0}, {1.0, 0.0, 1.0}, 0.5), 0.0);
}

TEST(ShockStrength, IsNothingAtTheSideOfASheet) {
  const Shock shock(10.0);
  EXPECT_EQ(shock_strength(gas, 1.0, {shock.rho, shock.u, shock.p}, {1.0, 0.0, 1.0}, 1.0), 0.0);
}

TEST(ShockStrength, IsNothingWhereGasMovesApart) {
  const Shock shock(10.0);
  EXPECT_EQ(shock_strength(gas, shock.p, {shock.rho, -shock.u, shock.p}, {1.0, 0.0, 1.0}, 1.0), 0.0);
}

TEST(SteepFall, IsThatOfAShockAndNotOfEvenConvergence) {
  EXPECT_TRUE(falls_steeply({1.0, -1.0}, {1.0, -1.0}));
  EXPECT_TRUE(falls_steeply({1.0, -1.0}, {0.8, -0.8}));
  EXPECT_FALSE(falls_steeply({2.0, -2.0}, {1.0, -1.0}));
  EXPECT_FALSE(falls_steeply({-1.0, 1.0}, {-1.0, 1.0}));
  EXPECT_FALSE(falls_steeply({0.0, 0.0}, {0.0, 0.0}));
  const double k = 2.0 * M_PI / 8.0;  // a wave of eight cells
  const auto across = [k](double cells) { return Fall{std::sin(0.5 * k * cells), std::sin(-0.5 * k * cells)}; };
  EXPECT_TRUE(falls_steeply(across(4.0), across(2.0)));
  EXPECT_FALSE(falls_steeply(across(2.0), across(1.0)));
}

}  // namespace
}  // namespace sidestream::solvers
