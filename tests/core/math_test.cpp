#include "sidestream/core/math.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sidestream/core/random.hpp"

namespace sidestream::core {
namespace {

using Function = double (*)(double);
using LongFunction = long double (*)(long double);

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
constexpr double least = std::numeric_limits<double>::denorm_min();

// The bound that the library states, and that `math.hpp` promises.
constexpr double promised_ulp = 1.0;

// The distance of `found` from the exact value in units of the last place of a double of that size.
double ulps(double found, long double exact) {
  const auto rounded = static_cast<double>(exact);
  if (found == rounded) return 0.0;
  const int exponent = rounded == 0.0 ? DBL_MIN_EXP : std::max(std::ilogb(rounded) + 1, DBL_MIN_EXP);
  return static_cast<double>(std::fabs(static_cast<long double>(found) - exact) *
                             std::ldexp(1.0L, DBL_MANT_DIG - exponent));
}

// Numbers of all sizes between 2^low and 2^high.
double of_any_size(std::uint64_t n, double low, double high) {
  const double exponent = low + (high - low) * uniform(3, 1, n);
  return std::ldexp(1.0 + uniform(3, 2, n), static_cast<int>(std::floor(exponent)));
}
double between(std::uint64_t n, double low, double high) {
  return low + (high - low) * uniform(3, 3, n);
}

struct Case {
  const char* name;
  Function function;
  LongFunction exact;
  std::vector<double> ends;  // pairs: intervals that points are drawn from
  bool is_by_size;           // the ends are powers of two
};

class OfOne : public testing::TestWithParam<Case> {};

TEST_P(OfOne, IsWithinOneUnitOfTheLastPlace) {
  const auto& [name, function, exact, ends, is_by_size] = GetParam();
  double worst = 0.0, at = 0.0;
  for (std::size_t pair = 0; pair < ends.size(); pair += 2) {
    for (std::uint64_t n = 0; n < 20000; ++n) {
      const double x = is_by_size ? of_any_size(n, ends[pair], ends[pair + 1]) : between(n, ends[pair], ends[pair + 1]);
      const double error = ulps(function(x), exact(static_cast<long double>(x)));
      if (error > worst) worst = error, at = x;
    }
  }
  EXPECT_LT(worst, promised_ulp) << name << "(" << at << ")";
}

INSTANTIATE_TEST_SUITE_P(Functions, OfOne,
                         testing::Values(Case{"exp", exp, std::exp, {-745, 709, -1, 1, -745, -708}, false},
                                         Case{"log", log, std::log, {-1074, 1023, -1, 1}, true},
                                         Case{"log10", log10, std::log10, {-1074, 1023, -1, 1}, true},
                                         Case{"sin", sin, std::sin, {-10, 10, -1e5, 1e5, 1e14, 1e15}, false},
                                         Case{"cos", cos, std::cos, {-10, 10, -1e5, 1e5, 1e14, 1e15}, false},
                                         Case{"cbrt", cbrt, std::cbrt, {-1074, 1023}, true}),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(Math, PowersAreWithinOneUnitOfTheLastPlace) {
  double worst = 0.0;
  for (std::uint64_t n = 0; n < 40000; ++n) {
    const double x = of_any_size(n, -20, 20), y = n % 2 == 0 ? between(n, -50, 50) : between(n, -2, 2);
    worst = std::max(worst, ulps(pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))));
  }
  EXPECT_LT(worst, promised_ulp);
}

TEST(Math, HypotenusesAreWithinOneUnitOfTheLastPlaceAndDoNotOverflow) {
  double worst = 0.0;
  for (std::uint64_t n = 0; n < 40000; ++n) {
    const double x = of_any_size(n, -1074, 1022), y = x * between(n, -3, 3);
    worst = std::max(worst, ulps(hypot(x, y), std::hypot(static_cast<long double>(x), static_cast<long double>(y))));
  }
  EXPECT_LT(worst, promised_ulp);
}

TEST(Math, PowersAndRootsThatAreDoublesAreExact) {
  for (int base = 2; base < 100; ++base) {
    double product = 1.0;
    for (int exponent = 1; product * base <= 0x1p53; ++exponent) {
      product *= base;
      EXPECT_EQ(pow(base, exponent), product) << base << "^" << exponent;
      EXPECT_EQ(pow(-base, exponent), exponent % 2 == 0 ? product : -product) << base << "^" << exponent;
    }
    EXPECT_EQ(cbrt(base * base * base), base);
  }
  for (int exponent = -300; exponent <= 300; ++exponent) {
    EXPECT_EQ(log10(std::stod(fmt::format("1e{}", exponent))), exponent);
    EXPECT_EQ(pow(2.0, exponent), std::ldexp(1.0, exponent));
  }
}

// Same value, same sign of a zero, or both NaN.
void expect_same(double found, double expected, const std::string& what) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found)) << what << " is " << found;
  } else {
    EXPECT_EQ(found, expected) << what;
    EXPECT_EQ(std::signbit(found), std::signbit(expected)) << what;
  }
}

// ISO C, annex F, which the C library follows; the values are those without a last bit to be free.
TEST(Math, SpecialValuesAreThoseOfTheStandard) {
  for (const double x : {0.0, -0.0, infinity, -infinity, nan}) {
    const std::string argument = fmt::format("({})", x);
    expect_same(exp(x), std::exp(x), "exp" + argument);
    expect_same(log(x), std::log(x), "log" + argument);
    expect_same(log10(x), std::log10(x), "log10" + argument);
    expect_same(sin(x), std::sin(x), "sin" + argument);
    expect_same(cos(x), std::cos(x), "cos" + argument);
    expect_same(cbrt(x), std::cbrt(x), "cbrt" + argument);
  }
  expect_same(log(1.0), 0.0, "log(1)");
  expect_same(log(-1.0), nan, "log(-1)");
  expect_same(exp(710.0), infinity, "exp(710)");
  expect_same(exp(-746.0), 0.0, "exp(-746)");
  expect_same(exp(-745.0), least, "exp(-745)");
  expect_same(sin(least), least, "sin of the least number");
  expect_same(log(least), std::log(least), "log of the least number");
}

TEST(Math, PowersAndHypotenusesOfSpecialValuesAreThoseOfTheStandard) {
  const std::vector<double> values{0.0, -0.0, infinity, -infinity, nan, least, -least, 1.0,   -1.0,
                                   2.0, -2.0, 3.0,      -3.0,      0.5, -0.5,  2.5,    1e300, -1e300};
  for (const double x : values) {
    for (const double y : values) {
      const std::string arguments = fmt::format("({}, {})", x, y);
      const double power = std::pow(x, y);
      if (power == 0.0 || std::fabs(power) == 1.0 || !std::isfinite(power))
        expect_same(pow(x, y), power, "pow" + arguments);
      expect_same(hypot(x, y), std::hypot(x, y), "hypot" + arguments);
    }
  }
}

// The bits themselves, by the sum over many points of those of the results. They are the same on all processors;
// another version of the library may round some of them the other way: its results are then equal among themselves
// only.
TEST(Math, TheBitsAreThoseOfOtherMachines) {
  const auto bits_of = [](auto function) {
    std::uint64_t sum = 0;
    for (std::uint64_t n = 0; n < 20000; ++n)
      sum = 31 * sum + std::bit_cast<std::uint64_t>(function(of_any_size(n, -9, 9)));
    return sum;
  };
  EXPECT_EQ(bits_of(exp), 0x2a7349fbaf14e79cu);
  EXPECT_EQ(bits_of(log), 0x46932b4b6d6b2f57u);
  EXPECT_EQ(bits_of(log10), 0xa672a845411db04au);
  EXPECT_EQ(bits_of(sin), 0x3f09f899f34ef268u);
  EXPECT_EQ(bits_of(cos), 0x3843d5bcad7d32acu);
  EXPECT_EQ(bits_of(cbrt), 0x07b63dbd9bf192efu);
  EXPECT_EQ(bits_of([](double x) { return pow(x, 0.73); }), 0x0c0af1aead5cb1bfu);
  EXPECT_EQ(bits_of([](double x) { return hypot(x, 1.0 / x); }), 0xb82327aebfd1e947u);
}

}  // namespace
}  // namespace sidestream::core
