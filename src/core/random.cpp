#include "sidestream/core/random.hpp"

#include <cmath>
#include <numbers>

#include "sidestream/core/math.hpp"

namespace sidestream::core {

namespace {

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

std::array<std::uint32_t, 4> draw(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox({low(index), high(index), low(stream), high(stream)}, {low(seed), high(seed)});
}

// The upper 53 of 64 bits, centred in their interval: never 0, never 1.
double unit_interval(std::uint32_t upper, std::uint32_t lower) {
  const std::uint64_t bits = ((std::uint64_t{upper} << 32) | lower) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t multiplier_0 = 0xD2511F53, multiplier_1 = 0xCD9E8D57;
  constexpr std::uint32_t weyl_0 = 0x9E3779B9, weyl_1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = multiplier_0 * counter[0];
    const std::uint64_t product_1 = multiplier_1 * counter[2];
    counter = {high(product_1) ^ counter[1] ^ key[0], low(product_1), high(product_0) ^ counter[3] ^ key[1],
               low(product_0)};
    key = {key[0] + weyl_0, key[1] + weyl_1};
  }
  return counter;
}

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto word = draw(seed, stream, index);
  return unit_interval(word[0], word[1]);
}

double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto word = draw(seed, stream, index);
  const double radius = std::sqrt(-2.0 * log(unit_interval(word[0], word[1])));
  return radius * cos(2.0 * std::numbers::pi * unit_interval(word[2], word[3]));
}

}  // namespace sidestream::core
