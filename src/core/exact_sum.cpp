#include "sidestream/core/exact_sum.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace sidestream::core {

namespace {

// Chunk c stands for chunk_[c] * 2^(32 c - 1074 - 1): a double's bits, shifted by its biased exponent, fall into three
// chunks.
constexpr int mantissa_bits = 52;
constexpr int not_finite = ExactSum::chunks - 1;
constexpr std::int64_t low_32 = 0xffffffff;

}  // namespace

void ExactSum::add(double term) {
  const auto bits = std::bit_cast<std::uint64_t>(term);
  const int exponent = static_cast<int>(bits >> mantissa_bits) & 0x7ff;
  if (exponent == 0x7ff) {
    ++chunk_[not_finite];
    return;
  }
  std::uint64_t mantissa = bits & ((std::uint64_t{1} << mantissa_bits) - 1);
  // A normal number has an implicit leading bit; a subnormal one has the exponent of the smallest normal number.
  mantissa |= static_cast<std::uint64_t>(exponent != 0) << mantissa_bits;
  const int shift = exponent - static_cast<int>(exponent != 0);
  const int chunk = shift >> 5, offset = shift & 31;
  const auto wide = static_cast<unsigned __int128>(mantissa) << offset;
  const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide) & low_32);
  const auto middle = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 32) & low_32);
  const auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 64));
  const std::int64_t sign = -static_cast<std::int64_t>(bits >> 63);
  chunk_[static_cast<std::size_t>(chunk)] += (low ^ sign) - sign;
  chunk_[static_cast<std::size_t>(chunk) + 1] += (middle ^ sign) - sign;
  chunk_[static_cast<std::size_t>(chunk) + 2] += (high ^ sign) - sign;
  if (--room_ == 0) normalize();
}

ExactSum& ExactSum::operator+=(const ExactSum& other) {
  ExactSum normal = other;
  normal.normalize();
  normalize();
  for (std::size_t c = 0; c < chunks; ++c) chunk_[c] += normal.chunk_[c];
  return *this;
}

void ExactSum::normalize() {
  std::int64_t carry = 0;
  for (std::size_t c = 0; c + 2 < chunks; ++c) {
    const std::int64_t sum = chunk_[c] + carry;
    carry = sum >> 32;
    chunk_[c] = sum & low_32;
  }
  chunk_[chunks - 2] += carry;
  room_ = 1 << 20;
}

double ExactSum::value() const {
  if (chunk_[not_finite] != 0) return std::numeric_limits<double>::quiet_NaN();
  ExactSum normal = *this;
  normal.normalize();
  auto& digits = normal.chunk_;
  const bool negative = digits[chunks - 2] < 0;
  if (negative) {
    for (auto& digit : digits) digit = -digit;
    normal.normalize();
  }
  int top = chunks - 2;
  while (top > 0 && digits[static_cast<std::size_t>(top)] == 0) --top;
  // The three leading digits hold at least 65 significant bits; anything below only matters as "more than zero"
  // (sticky).
  unsigned __int128 leading = 0;
  for (int c = top; c > top - 3; --c)
    leading = (leading << 32) | static_cast<std::uint64_t>(c >= 0 ? digits[static_cast<std::size_t>(c)] : 0);
  bool sticky = false;
  for (int c = top - 3; c >= 0; --c) sticky = sticky || digits[static_cast<std::size_t>(c)] != 0;
  int exponent = 32 * (top - 2) - 1074;
  int width = 128;
  while (width > 0 && ((leading >> (width - 1)) & 1) == 0) --width;
  // Round to 53 bits, to nearest and ties to even; a result that is subnormal keeps fewer bits.
  int drop = width - 53;
  if (exponent + drop < -1074) drop = -1074 - exponent;
  if (drop > 0) {
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
    const unsigned __int128 rest = leading & ((half << 1) - 1);
    leading >>= drop;
    exponent += drop;
    const bool up = rest > half || (rest == half && (sticky || (leading & 1) != 0));
    if (up) ++leading;
  }
  const double magnitude = std::ldexp(static_cast<double>(static_cast<std::uint64_t>(leading)), exponent);
  return negative ? -magnitude : magnitude;
}

}  // namespace sidestream::core
