#include "sidestream/core/exact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace sidestream::core {
namespace {

std::vector<double> wild_numbers(int count) {
  std::mt19937_64 generator(7);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-300, 300);
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(std::ldexp(mantissa(generator), exponent(generator)));
  return numbers;
}

double summed(const std::vector<double>& terms) {
  ExactSum sum;
  sum.add(terms);
  return sum.value();
}

TEST(ExactSum, OfNothingIsZero) {
  EXPECT_EQ(ExactSum().value(), 0.0);
}

TEST(ExactSum, OfOneTermIsThatTerm) {
  for (const double term :
       {1.0, -1.0, 0.1, -3.5e300, 4.9e-324, 2.2250738585072014e-308, -1.7e-310, 1.7976931348623157e308})
    EXPECT_EQ(summed({term}), term);
}

TEST(ExactSum, DoesNotDependOnOrder) {
  auto terms = wild_numbers(5000);
  const double expected = summed(terms);

  std::shuffle(terms.begin(), terms.end(), std::mt19937(3));

  EXPECT_EQ(summed(terms), expected);
}

TEST(ExactSum, DoesNotDependOnHowItWasSplit) {
  const auto terms = wild_numbers(5000);
  ExactSum left, right;
  left.add(std::span(terms).first(1234));
  right.add(std::span(terms).subspan(1234));

  left += right;

  EXPECT_EQ(left.value(), summed(terms));
}

TEST(ExactSum, KeepsWhatCancellationWouldLose) {
  EXPECT_EQ(summed({1e300, 1.0, -1e300}), 1.0);
  EXPECT_EQ(summed({1e16, 1.0, 1.0, -1e16}), 2.0);
}

TEST(ExactSum, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(summed({1.0, 0x1p-53}), 1.0);
  EXPECT_EQ(summed({1.0, 0x1p-53, 0x1p-200}), 1.0 + 0x1p-52);
  EXPECT_EQ(summed({1.0 + 0x1p-52, 0x1p-53}), 1.0 + 0x1p-51);
}

TEST(ExactSum, AgreesWithLongDoubleOnFriendlyNumbers) {
  std::vector<double> terms;
  long double reference = 0.0L;
  for (int i = 1; i <= 3000000; ++i) {
    terms.push_back(1.0 / i);
    reference += 1.0L / i;
  }
  EXPECT_NEAR(summed(terms), static_cast<double>(reference), 1e-14);
}

TEST(ExactSum, OfANegativeTotalMirrorsThePositiveOne) {
  auto terms = wild_numbers(500);
  const double expected = summed(terms);
  for (double& term : terms) term = -term;
  EXPECT_EQ(summed(terms), -expected);
}

TEST(ExactSum, IsNotANumberOnceATermIsNotFinite) {
  EXPECT_TRUE(std::isnan(summed({1.0, std::numeric_limits<double>::infinity()})));
  EXPECT_TRUE(std::isnan(summed({std::nan("")})));
}

constexpr double largest = std::numeric_limits<double>::max(), smallest = std::numeric_limits<double>::denorm_min(),
                 infinity = std::numeric_limits<double>::infinity();

TEST(ExactSum, BeyondTheLargestDoubleIsInfinite) {
  EXPECT_EQ(summed({largest, largest}), infinity);
  EXPECT_EQ(summed({-largest, -largest, -largest}), -infinity);
  const double half_a_step = 0x1p970;  // of the largest double: a tie, which goes to the even 2^1024
  EXPECT_EQ(summed({largest, half_a_step}), infinity);
  EXPECT_EQ(summed({largest, half_a_step, -smallest}), largest);
}

TEST(ExactSum, ComesBackFromBeyondTheLargestDouble) {
  EXPECT_EQ(summed({largest, largest, -largest, -largest}), 0.0);
  EXPECT_EQ(summed({largest, largest, smallest, -largest, -largest}), smallest);
  std::vector<double> many(3 << 20, largest);
  many.resize(2 * many.size(), -largest);
  many.push_back(-smallest);
  EXPECT_EQ(summed(many), -smallest);
}

TEST(ExactSum, ReachesDownToTheSmallestSubnormalNumber) {
  EXPECT_EQ(summed({smallest, smallest}), 2 * smallest);
  EXPECT_EQ(summed({0x1p-1022, -smallest}), 0x1p-1022 - smallest);
  EXPECT_EQ(summed({largest, smallest, -largest}), smallest);
}

// So many ranks may hold sums of so many of the largest terms.
TEST(ExactSum, StatesOfAMillionRanksAddUp) {
  ExactSum of_rank;
  for (int i = 0; i < 1000; ++i) of_rank.add(largest, ExactSum::highest_power);
  of_rank.add(-smallest);
  of_rank.normalize();
  ExactSum total;
  for (std::size_t c = 0; c < ExactSum::chunks; ++c) total.state()[c] = of_rank.state()[c] << 20;
  total.normalize();
  EXPECT_EQ(total.value(), infinity);
  ExactSum minus;
  for (int i = 0; i < 1000; ++i) minus.add(-largest, ExactSum::highest_power + 20);
  total += minus;
  EXPECT_EQ(total.value(), -smallest * 0x1p20);
}

TEST(ExactSum, TakesAndGivesPowersOfTwo) {
  ExactSum sum;
  sum.add(1.0, ExactSum::highest_power);
  sum.add(0x1p-30, ExactSum::highest_power);
  sum.add(largest, 90);
  EXPECT_EQ(sum.value(), infinity);
  EXPECT_EQ(sum.value(-90), largest);
  sum.add(-largest, 90);
  EXPECT_EQ(sum.value(-ExactSum::highest_power), 1.0 + 0x1p-30);
  EXPECT_EQ(sum.value(-1200), std::ldexp(1.0, ExactSum::highest_power - 1200) * (1.0 + 0x1p-30));
  EXPECT_EQ(sum.value(-4000), 0.0);
}

TEST(ExactSum, RoundsSubnormalResultsOnce) {
  ExactSum sum;
  sum.add(0x1.8p0);
  EXPECT_EQ(sum.value(-1074), 2 * smallest);  // 1.5: a tie, to even
  EXPECT_EQ(sum.value(-1075), smallest);      // 0.75
  sum.add(-0x1p0);
  EXPECT_EQ(sum.value(-1074), 0.0);  // 0.5: a tie, to even
  sum.add(smallest);
  EXPECT_EQ(sum.value(-1074), smallest);  // just above
}

}  // namespace
}  // namespace sidestream::core
