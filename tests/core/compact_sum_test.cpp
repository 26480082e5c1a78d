#include "sidestream/core/compact_sum.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace sidestream::core {
namespace {

constexpr double largest = std::numeric_limits<double>::max(), smallest = std::numeric_limits<double>::denorm_min(),
                 infinity = std::numeric_limits<double>::infinity();

double summed(std::span<const double> terms) {
  CompactSum sum;
  for (const double term : terms) sum.add(term);
  return sum.value();
}
double summed(const std::vector<double>& terms) {
  return summed(std::span(terms));
}

double exactly(std::span<const double> terms) {
  ExactSum sum;
  sum.add(terms);
  return sum.value();
}

// Of any sign, with magnitudes from 2^-range to 2^range.
std::vector<double> numbers(int count, int range, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> mantissa(-1.0, 1.0);
  std::uniform_int_distribution<int> exponent(-range, range);
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.push_back(std::ldexp(mantissa(generator), exponent(generator)));
  return all;
}

std::vector<SumPortion> portions_of(const CompactSum& sum) {
  std::vector<SumPortion> portions;
  sum.for_each_portion([&](const SumPortion& portion) { portions.push_back(portion); });
  return portions;
}

TEST(CompactSum, OfNothingIsZero) {
  EXPECT_EQ(CompactSum().value(), 0.0);
  EXPECT_TRUE(portions_of(CompactSum()).empty());
  EXPECT_EQ(summed({0.0, -0.0}), 0.0);
}

TEST(CompactSum, OfOneTermIsThatTerm) {
  for (const double term : {1.0, -1.0, 0.1, -3.5e300, 2.2250738585072014e-308, -1.7e-310, smallest, -smallest, largest})
    EXPECT_EQ(summed({term}), term);
}

// Terms that fit the window, that leave it now and then, that mostly do, and all doubles.
TEST(CompactSum, IsTheExactSum) {
  for (const int range : {3, 15, 60, 1020})
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      auto terms = numbers(500, range, seed);
      const double expected = exactly(terms);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(summed(terms)), std::bit_cast<std::uint64_t>(expected)) << range;
      std::shuffle(terms.begin(), terms.end(), std::mt19937(3));
      EXPECT_EQ(summed(terms), expected) << range;
    }
}

TEST(CompactSum, DoesNotDependOnHowItWasSplit) {
  for (const int range : {3, 15, 30, 60, 1020})
    for (const std::size_t at : {0, 1, 7, 250, 499, 500}) {
      const auto terms = numbers(500, range, 11 + at);
      CompactSum left, right;
      for (std::size_t i = 0; i < terms.size(); ++i) (i < at ? left : right).add(terms[i]);
      left.add(right);
      EXPECT_EQ(left.value(), exactly(terms)) << range << " " << at;
    }
}

TEST(CompactSum, OneAbsurdTermLosesNothingOfTheOthers) {
  for (const double absurd : {1e25, 1e300, largest, 1e-300, smallest})
    for (const bool is_first : {false, true}) {
      std::vector<double> terms = numbers(1000, 5, 4);
      const double without = exactly(terms);
      terms.insert(is_first ? terms.begin() : terms.end(), absurd);
      EXPECT_EQ(summed(terms), exactly(terms)) << absurd;
      terms.push_back(-absurd);
      EXPECT_EQ(summed(terms), without) << absurd;
    }
}

TEST(CompactSum, BeyondTheLargestDoubleIsInfiniteAndComesBack) {
  EXPECT_EQ(summed({largest, largest}), infinity);
  EXPECT_EQ(summed({-largest, -largest}), -infinity);
  EXPECT_EQ(summed({largest, largest, 1.0, -largest, -largest}), 1.0);
}

TEST(CompactSum, IsNotANumberOnceATermIsNotFinite) {
  for (const double bad : {infinity, -infinity, std::nan("")})
    for (const bool is_first : {false, true}) {
      CompactSum sum, total;
      if (!is_first) sum.add(1.0);
      sum.add(bad, 3);
      if (is_first) sum.add(1.0);
      EXPECT_TRUE(std::isnan(sum.value()));
      total.add(2.0);
      total.add(sum);
      EXPECT_TRUE(std::isnan(total.value()));
    }
}

TEST(CompactSum, IsAddedToAnExactSumWithoutLoss) {
  std::vector<double> terms = numbers(1000, 30, 11);
  terms.push_back(1e300);  // beyond the window
  CompactSum sum;
  ExactSum total, expected;
  total.add(-1e300);
  expected.add(-1e300);
  for (const double term : terms) sum.add(term);
  expected.add(terms);

  sum.add_to(total);
  CompactSum().add_to(total);

  EXPECT_EQ(total.value(), expected.value());
}

TEST(CompactSum, TravelsAsOnePortionMostly) {
  CompactSum sum, other;
  for (const double term : numbers(1000, 5, 1)) sum.add(std::fabs(term) + 0.1);
  for (const double term : numbers(1000, 5, 2)) other.add(std::fabs(term) + 0.1);
  EXPECT_EQ(portions_of(sum).size(), 1U);
  sum.add(other);
  EXPECT_EQ(portions_of(sum).size(), 1U);
}

// Sums that are doubled by adding them to themselves outgrow their window.
TEST(CompactSum, OutgrowsItsWindowWithoutLoss) {
  for (const double term : {1.0, -0.1, smallest, -1e-300}) {
    CompactSum sum;
    sum.add(term);
    sum.add(0.5 * term + smallest);
    const double first = sum.value();
    for (int doubling = 0; doubling < 300; ++doubling) {
      EXPECT_EQ(sum.value(-doubling), first) << doubling;
      CompactSum same;
      same.add(sum);
      sum.add(same);
    }
  }
}

TEST(CompactSum, TakesAndGivesPowersOfTwo) {
  CompactSum sum;
  sum.add(largest, ExactSum::highest_power);
  sum.add(3.0, 5);
  sum.add_times(0.1, 11);
  EXPECT_EQ(sum.value(-ExactSum::highest_power), largest);
  sum.add(-largest, ExactSum::highest_power);
  ExactSum expected;
  expected.add(96.0);
  for (int i = 0; i < 11; ++i) expected.add(0.1);
  EXPECT_EQ(sum.value(), expected.value());
  EXPECT_EQ(sum.value(-2), 0.25 * expected.value());
}

}  // namespace
}  // namespace sidestream::core
