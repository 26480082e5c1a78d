#include "fft/lines.hpp"

#include "fft/roots.hpp"
#include "fft/rows.hpp"

namespace sidestream::fft {

namespace {

// What lines along y and z take of the cache at a time: wide rows, because each row is elsewhere in memory.
constexpr int piece_size_bytes = 1 << 17;

}  // namespace

template <typename T>
ComplexLines<T>::ComplexLines(int length, int kept) : transform_(length), kept_(length, kept) {
  while (2 * width_ * length * static_cast<int>(sizeof(Element<T>)) <= piece_size_bytes) width_ *= 2;
  batches_.resize(static_cast<std::size_t>(width_) * static_cast<std::size_t>(length));
  scratch_.resize(transform_.scratch_length());
}

template <typename T>
RealRows<T>::RealRows(int length, int kept)
    : length_(length),
      kept_(kept),
      transform_(is_even() ? length / 2 : length),
      batch_(static_cast<std::size_t>(length + 1)),
      scratch_(std::max(batch_.size(), transform_.scratch_length())) {
  for (int k = 0; 2 * k <= length; ++k) {
    const std::complex<double> root = root_of_unity(k, length);
    roots_.emplace_back(static_cast<T>(root.real()), static_cast<T>(root.imag()));
  }
}

template <typename T>
ComplexRows<T>::ComplexRows(int length, int kept)
    : transform_(length),
      kept_(length, kept),
      batch_(static_cast<std::size_t>(length)),
      scratch_(transform_.scratch_length()) {}

template ComplexLines<double>::ComplexLines(int, int);
template ComplexLines<float>::ComplexLines(int, int);
template RealRows<double>::RealRows(int, int);
template RealRows<float>::RealRows(int, int);
template ComplexRows<double>::ComplexRows(int, int);
template ComplexRows<float>::ComplexRows(int, int);

}  // namespace sidestream::fft
