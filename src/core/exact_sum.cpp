#include "sidestream/core/exact_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sidestream::core {

namespace {

// Chunk c stands for chunk_[c] * 2^(32 c - 1074): an integer of 63 bits, shifted by up to 31, falls into three chunks.
constexpr int not_finite = ExactSum::chunks - 1;
constexpr int highest = ExactSum::chunks - 2;  // the digit that carries the sign
constexpr std::int64_t low_32 = 0xffffffff;
static_assert(ExactSum::highest_place / 32 + 2 < highest, "the highest term has its digits");

}  // namespace

double rounded(unsigned __int128 magnitude, bool more, int place) {
  constexpr int precision = 53;
  int width = 128;
  while (width > 0 && ((magnitude >> (width - 1)) & 1) == 0) --width;
  // A result that is subnormal keeps fewer bits.
  const int drop = std::max(width - precision, -place);
  if (drop > width) return 0.0;  // less than half of the smallest subnormal number
  if (drop > 0) {
    const unsigned __int128 half = static_cast<unsigned __int128>(1) << (drop - 1);
    const unsigned __int128 rest = magnitude & ((half - 1) | half);
    magnitude = drop < 128 ? magnitude >> drop : 0;
    place += drop;
    if (rest > half || (rest == half && (more || (magnitude & 1) != 0))) ++magnitude;
  }
  return std::ldexp(static_cast<double>(static_cast<std::uint64_t>(magnitude)), place - 1074);
}

void ExactSum::add(std::int64_t multiple, int place) {
  const int chunk = place >> 5, offset = place & 31;
  const std::int64_t sign = multiple >> 63;
  const auto wide = static_cast<unsigned __int128>(static_cast<std::uint64_t>((multiple ^ sign) - sign)) << offset;
  const auto low = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide) & low_32);
  const auto middle = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 32) & low_32);
  const auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide >> 64));
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
  for (std::size_t c = 0; c < highest; ++c) {
    const std::int64_t sum = chunk_[c] + carry;
    carry = sum >> 32;
    chunk_[c] = sum & low_32;
  }
  chunk_[highest] += carry;
  room_ = 1 << 20;
}

double ExactSum::value(int power) const {
  if (chunk_[not_finite] != 0) return std::numeric_limits<double>::quiet_NaN();
  ExactSum normal = *this;
  normal.normalize();
  auto& digits = normal.chunk_;
  const bool is_negative = digits[highest] < 0;
  if (is_negative) {
    for (auto& digit : digits) digit = -digit;
    normal.normalize();
  }
  int top = highest;
  while (top > 0 && digits[static_cast<std::size_t>(top)] == 0) --top;
  // The three leading digits hold at least 65 significant bits; of what is below only whether it is more than nothing
  // matters.
  unsigned __int128 leading = 0;
  for (int c = top; c > top - 3; --c)
    leading = (leading << 32) | static_cast<std::uint64_t>(c >= 0 ? digits[static_cast<std::size_t>(c)] : 0);
  bool more = false;
  for (int c = top - 3; c >= 0; --c) more = more || digits[static_cast<std::size_t>(c)] != 0;
  const double magnitude = rounded(leading, more, 32 * (top - 2) + power);
  return is_negative ? -magnitude : magnitude;
}

}  // namespace sidestream::core
