#include "fft/lines.hpp"

namespace sidestream::fft {

namespace {

// What lines along y and z take of the cache at a time: wide rows, because each row is elsewhere in memory.
constexpr int piece_size_bytes = 1 << 17;

}  // namespace

ComplexLines::ComplexLines(int length) : transform_(length) {
  while (2 * width_ * length * static_cast<int>(sizeof(Element)) <= piece_size_bytes) width_ *= 2;
  batches_.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(length));
  scratch_.resize(static_cast<std::size_t>(length));
}

RealLines::RealLines(int length)
    : length_(length),
      modes_(length / 2 + 1),
      transform_(is_even() ? length / 2 : length),
      batch_(static_cast<std::size_t>(length + 1)),
      scratch_(batch_.size()) {
  for (int k = 0; k < modes_; ++k) roots_.push_back(root_of_unity(k, length));
}

}  // namespace sidestream::fft
