#include "sidestream/core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace sidestream::core {
namespace {

// Known answers of the Random123 library for Philox4x32-10.
TEST(Random, PhiloxGivesThePublishedNumbers) {
  using Word = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Word{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Word{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Word{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, NormalDeviatesHaveTheMomentsOfTheNormalDistribution) {
  constexpr int count = 200000;
  double sum = 0, square = 0, fourth = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double x = normal(42, 1, i);
    sum += x, square += x * x, fourth += x * x * x * x;
  }
  const double sigma = 1.0 / std::sqrt(count);
  EXPECT_NEAR(sum / count, 0.0, 4 * sigma);
  EXPECT_NEAR(square / count, 1.0, 4 * std::sqrt(2.0) * sigma);
  EXPECT_NEAR(fourth / count, 3.0, 4 * std::sqrt(96.0) * sigma);
}

TEST(Random, UniformDeviatesStayInsideTheOpenInterval) {
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double x = uniform(1, 2, i);
    EXPECT_GT(x, 0.0);
    EXPECT_LT(x, 1.0);
  }
}

TEST(Random, SeedsAndStreamsGiveOtherNumbers) {
  EXPECT_NE(normal(1, 0, 5), normal(2, 0, 5));
  EXPECT_NE(normal(1, 0, 5), normal(1, 1, 5));
}

}  // namespace
}  // namespace sidestream::core
