// The Riemann solvers against an exact one and against numbers known from the literature.
#include "solvers/hydro/hydro_riemann.hpp"

#include <gtest/gtest.h>

#include <random>

namespace sidestream::test {
namespace {

using namespace solvers;

/// The velocity change across a wave from pressure `side.p` to `p` (Toro 2009, eqs. 4.6 and 4.7).
double exact_jump(double gamma, const Side& side, double p) {
  if (p > side.p) {
    const double a = 2.0 / ((gamma + 1.0) * side.rho), b = (gamma - 1.0) / (gamma + 1.0) * side.p;
    return (p - side.p) * std::sqrt(a / (p + b));
  }
  const double c = std::sqrt(gamma * side.p / side.rho);
  return 2.0 * c / (gamma - 1.0) * (std::pow(p / side.p, (gamma - 1.0) / (2.0 * gamma)) - 1.0);
}

Middle exact_middle(double gamma, const Side& l, const Side& r) {
  double lo = 0.0, hi = 1e8;
  for (int bisection = 0; bisection < 200; ++bisection) {
    const double p = 0.5 * (lo + hi);
    (exact_jump(gamma, l, p) + exact_jump(gamma, r, p) + r.u - l.u > 0.0 ? hi : lo) = p;
  }
  return {lo, 0.5 * (l.u + r.u) + 0.5 * (exact_jump(gamma, r, lo) - exact_jump(gamma, l, lo))};
}

const Gas air(1.4);
const Side sod_left{1.0, 0.0, 0.3, -0.2, 1.0}, sod_right{0.125, 0.0, -0.1, 0.4, 0.1};

Side mirrored(Side side) {
  side.u = -side.u;
  return side;
}

struct RandomSides {
  explicit RandomSides(double spread) : spread_(spread) {}
  Side next() { return {std::exp(draw()), draw(), draw(), draw(), std::exp(draw())}; }
  double draw() { return spread_ * normal_(engine_); }

  double spread_;
  std::mt19937_64 engine_{42};
  std::normal_distribution<> normal_;
};

double mass_flux(const Face& face) {
  return face.rho * face.u;
}
double momentum_flux(const Face& face) {
  return face.rho * face.u * face.u + face.p;
}
double energy_flux(const Face& face) {
  return face.u * (face.energy + face.p);
}

TEST(TwoShock, FindsThePressureAndVelocityOfTwoShocksForSod) {
  const Middle middle = two_shock_middle(air, sod_left, sod_right, 3);

  EXPECT_NEAR(middle.p, 0.30325371, 3e-5);
  EXPECT_NEAR(middle.u, 0.92783746, 1e-5);
  EXPECT_NEAR(two_shock_middle(air, sod_left, sod_right, 6).p, 0.30325371, 1e-8);
}

TEST(TwoShock, IsTheExactSolutionWhereBothWavesAreShocks) {
  const Side left{5.99924, 19.5975, 0.0, 0.0, 460.894}, right{5.99242, -6.19633, 0.0, 0.0, 46.095};

  const Middle middle = two_shock_middle(air, left, right, 4), exact = exact_middle(1.4, left, right);

  EXPECT_NEAR(exact.p, 1691.64695540, 1e-4);
  EXPECT_NEAR(middle.p / exact.p, 1.0, 1e-9);
  EXPECT_NEAR(middle.u / exact.u, 1.0, 1e-9);
}

TEST(TwoShock, IsWithinAFewPercentOfTheExactPressureForRarefactions) {
  RandomSides random(0.3);

  for (int n = 0; n < 1000; ++n) {
    const Side left = random.next(), right = random.next();
    EXPECT_NEAR(two_shock_middle(air, left, right, 3).p / exact_middle(1.4, left, right).p, 1.0, 0.05);
  }
}

TEST(TwoShock, ReturnsTheFluxOfUniformGas) {
  const Side gas{0.7, -0.4, 0.2, 0.9, 1.3};

  const Face face = two_shock(air, gas, gas, 3);

  EXPECT_DOUBLE_EQ(face.rho, gas.rho);
  EXPECT_DOUBLE_EQ(face.u, gas.u);
  EXPECT_DOUBLE_EQ(face.p, gas.p);
  EXPECT_EQ(face.v, gas.v);
  EXPECT_DOUBLE_EQ(face.energy, 1.3 / 0.4 + 0.35 * (0.16 + 0.04 + 0.81));
}

TEST(TwoShock, TakesTheStateOfTheSupersonicSide) {
  const Side left{1.0, 5.0, 0.1, 0.2, 1.0}, right{0.5, 4.9, 0.3, 0.4, 0.9};

  const Face face = two_shock(air, left, right, 3);

  EXPECT_EQ(face.rho, left.rho);
  EXPECT_EQ(face.u, left.u);
  EXPECT_EQ(face.p, left.p);
}

TEST(TwoShock, LetsNothingThroughWhereEqualColdStreamsMeet) {
  for (const double mach : {3.0, 30.0, 1e3, 1e6})
    for (const int iterations : {predictor_iterations, final_iterations}) {
      const Side left{1.0, mach, 0.3, -0.2, 1.0 / 1.4};

      const Face face = two_shock(air, left, mirrored(left), iterations);

      EXPECT_EQ(mass_flux(face), 0.0) << mach << " " << iterations;
      EXPECT_GT(face.p, left.p);
    }
}

TEST(TwoShock, GivesNearlyTheFluxOfTheExactSolverForSod) {
  const Face face = two_shock(air, sod_left, sod_right, 3);

  // The exact flux of Godunov for Sod's interface is (.39539107, .66983666, 1.15403752).
  EXPECT_NEAR(mass_flux(face), 0.39539107, 2e-3);
  EXPECT_NEAR(momentum_flux(face), 0.66983666, 2e-3);
  EXPECT_NEAR(energy_flux(face) - 0.5 * mass_flux(face) * (0.09 + 0.04), 1.15403752, 6e-3);
}

TEST(Hllc, GivesTheKnownFluxForSod) {
  const Side left{1.0, 0.0, 0.0, 0.0, 1.0}, right{0.125, 0.0, 0.0, 0.0, 0.1};

  const Face face = hllc(air, left, right);

  EXPECT_NEAR(face.u, 0.67811788, 1e-8);  // the speed of the contact
  EXPECT_NEAR(mass_flux(face), 0.43106717, 1e-8);
  EXPECT_NEAR(momentum_flux(face), 0.48995445, 1e-8);
  EXPECT_NEAR(energy_flux(face), 1.16286407, 1e-8);
}

TEST(Hllc, KeepsAContactAtRestExactly) {
  const Side left{1.0, 0.0, 0.3, 0.1, 1.0}, right{0.01, 0.0, -0.5, 0.2, 1.0};

  const Face face = hllc(air, left, right);

  EXPECT_EQ(mass_flux(face), 0.0);
  EXPECT_DOUBLE_EQ(momentum_flux(face), 1.0);
  EXPECT_EQ(energy_flux(face), 0.0);
}

template <typename Solve>
void expect_mirror_symmetry(Solve solve) {
  RandomSides random(4.0);  // Mach numbers up to 1e4
  for (int n = 0; n < 4000; ++n) {
    const Side left = random.next(), right = n % 2 == 0 ? random.next() : mirrored(left);

    const Face face = solve(left, right), image = solve(mirrored(right), mirrored(left));

    EXPECT_EQ(mass_flux(face), -mass_flux(image));
    EXPECT_EQ(momentum_flux(face), momentum_flux(image));
    EXPECT_EQ(energy_flux(face), -energy_flux(image));
    EXPECT_EQ(face.u, -image.u);
    EXPECT_EQ(face.p, image.p);
  }
}

TEST(RiemannSolvers, AreMirrorSymmetricToTheBit) {
  for (const int iterations : {predictor_iterations, final_iterations})
    expect_mirror_symmetry([=](const Side& l, const Side& r) { return two_shock(air, l, r, iterations); });
  expect_mirror_symmetry([](const Side& l, const Side& r) { return hllc(air, l, r); });
}

template <typename Solve>
void expect_finite_and_positive(Solve solve) {
  RandomSides random(8.0);  // ratios up to 1e20 and Mach numbers up to 1e6
  for (int n = 0; n < 20000; ++n) {
    const Side left = random.next(), right = random.next();

    const Face face = solve(left, right);

    EXPECT_TRUE(std::isfinite(energy_flux(face)) && std::isfinite(face.internal_energy));
    EXPECT_GT(face.rho, 0.0);
    EXPECT_GE(face.p, 0.0);
  }
}

TEST(RiemannSolvers, StayFiniteAndPositiveForExtremeJumps) {
  expect_finite_and_positive([](const Side& l, const Side& r) { return two_shock(air, l, r, 3); });
  expect_finite_and_positive([](const Side& l, const Side& r) { return hllc(air, l, r); });
}

TEST(SymmetricSum, DoesNotDependOnTheOrderAndChangesSignWithItsArguments) {
  RandomSides random(5.0);
  for (int n = 0; n < 1000; ++n) {
    const double a = random.draw() * 1e8, b = random.draw(), c = random.draw() * 1e-8;

    const double sum = symmetric_sum(a, b, c);

    EXPECT_EQ(sum, symmetric_sum(b, a, c));
    EXPECT_EQ(sum, symmetric_sum(c, a, b));
    EXPECT_EQ(sum, symmetric_sum(c, b, a));
    EXPECT_EQ(sum, -symmetric_sum(-a, -b, -c));
    EXPECT_NEAR(sum, a + b + c, 1e-15 * (std::fabs(a) + std::fabs(b) + std::fabs(c)));
  }
}

}  // namespace
}  // namespace sidestream::test
