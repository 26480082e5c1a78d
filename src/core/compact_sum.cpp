#include "sidestream/core/compact_sum.hpp"

#include <algorithm>
#include <limits>

namespace sidestream::core {

namespace {

unsigned __int128 magnitude_of(Int128 number) {
  return static_cast<unsigned __int128>(number < 0 ? -number : number);
}

// Whether |number| * 2^shift is at most 2^bits.
bool fits(Int128 number, int shift, int bits) {
  return shift < bits && magnitude_of(number) <= (static_cast<unsigned __int128>(1) << (bits - shift));
}

// Adds `multiple` * 2^(`place` - 1074) to `sum`, in pieces that it takes.
void add_pieces(ExactSum& sum, Int128 multiple, int place) {
  constexpr int digits = 43;
  for (int part = 0; part < 3; ++part, place += digits) {  // the last one keeps the sign
    const Int128 digit = part < 2 ? multiple & ((Int128{1} << digits) - 1) : multiple;
    sum.add(static_cast<std::int64_t>(digit), place);
    multiple >>= digits;
  }
}

}  // namespace

ExactSum& CompactSum::beyond() {
  if (!beyond_) beyond_ = std::make_unique<ExactSum>();
  return *beyond_;
}

void CompactSum::set_window(Int128 window, int place) {
  window_ = window;
  place_ = place;
  const Int128 room = ((Int128{1} << window_bits) - static_cast<Int128>(magnitude_of(window))) >> term_bits;
  room_ = static_cast<std::int32_t>(std::min<Int128>(room, most_terms));
}

void CompactSum::add_elsewhere(const WholeTerm& term, int power) {
  if (term.multiple == 0) return;
  const int place = term.place + power;
  if (term.is_finite() && place_ == nowhere) {
    const int lowest = std::max(0, place - static_cast<int>(window_shifts) / 2);
    set_window(Int128{term.multiple} << (place - lowest), lowest);
  } else if (term.is_finite()) {
    beyond().add(term.multiple, place);
  } else {
    beyond().add(std::numeric_limits<double>::quiet_NaN());
  }
}

void CompactSum::add(const SumPortion& portion) {
  if (portion.place < 0) return beyond().add_to_state(static_cast<std::size_t>(-1 - portion.place), portion.high);
  const Int128 other = (Int128{portion.high} << 64) | portion.low;
  const int place = static_cast<int>(portion.place);
  const int lowest = place_ == nowhere ? place : std::min(place_, place);
  const int own_shift = place_ == nowhere ? 0 : place_ - lowest, shift = place - lowest;
  if (fits(window_, own_shift, window_bits - 1) && fits(other, shift, window_bits - 1))
    set_window((window_ << own_shift) + (other << shift), lowest);
  else
    add_pieces(beyond(), other, place);
}

void CompactSum::add_to(ExactSum& sum) const {
  if (beyond_) sum += *beyond_;
  add_pieces(sum, window_, std::max(place_, 0));
}

double CompactSum::value(int power) const {
  if (!beyond_ && window_ == 0) return 0.0;
  if (!beyond_) {
    const double magnitude = rounded(magnitude_of(window_), false, place_ + power);
    return window_ < 0 ? -magnitude : magnitude;
  }
  ExactSum total;
  add_to(total);
  return total.value(power);
}

}  // namespace sidestream::core
