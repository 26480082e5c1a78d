#include "fft/lines.hpp"

#include <algorithm>
#include <array>

namespace sidestream::fft {

using Complex = std::complex<double>;

namespace {

// The backward transform is the forward one with real and imaginary parts swapped, before and after.
Element swapped(const Element& a) {
  return {a.im, a.re};
}

// A grid of 2^n cells has 2^(n-1) + 1 modes along x, so that batches of a single line are common.
Element load_some(const Complex* from, int count) {
  if (count == 1) return {Lanes{from->real()}, Lanes{from->imag()}};
  std::array<Complex, batch> numbers{};
  std::copy_n(from, count, numbers.data());
  return load_interleaved(numbers.data());
}

void store_some(const Element& element, Complex* to, int count) {
  if (count == 1) {
    *to = {element.re[0], element.im[0]};
    return;
  }
  std::array<Complex, batch> numbers;
  store_interleaved(element, numbers.data());
  std::copy_n(numbers.data(), count, to);
}

// An array of elements is an array of numbers [length][2][batch]: real parts of all lanes, imaginary parts, real parts,
// ...
double* numbers_of(Element* elements) {
  return reinterpret_cast<double*>(elements);
}
const double* numbers_of(const Complex* values) {
  return reinterpret_cast<const double*>(values);
}
double* numbers_of(Complex* values) {
  return reinterpret_cast<double*>(values);
}

// Number i of row l, at `rows[l * stride + i]`, becomes `columns[i * batch + l]`. Rows from `count` on read as zeros.
void gather_rows(const double* rows, std::ptrdiff_t stride, int count, int length, double* columns) {
  int i = 0;
  if (count == batch)
    for (; i + batch <= length; i += batch) transpose(rows + i, stride, columns + i * batch, batch);
  for (; i < length; ++i)
    for (int l = 0; l < batch; ++l) columns[i * batch + l] = l < count ? rows[l * stride + i] : 0.0;
}

void scatter_rows(const double* columns, int length, double* rows, std::ptrdiff_t stride, int count) {
  int i = 0;
  if (count == batch)
    for (; i + batch <= length; i += batch) transpose(columns + i * batch, batch, rows + i, stride);
  for (; i < length; ++i)
    for (int l = 0; l < count; ++l) rows[l * stride + i] = columns[i * batch + l];
}

}  // namespace

void ComplexLines::apply(Direction direction, Complex* data, std::ptrdiff_t stride, std::ptrdiff_t count) {
  if (transform_.length() == 1) return;
  for (std::ptrdiff_t first = 0; first < count; first += width_ * batch) {
    const int lines = static_cast<int>(std::min<std::ptrdiff_t>(width_ * batch, count - first));
    if (direction == Direction::forward)
      transform_piece<Direction::forward>(data + first, stride, lines);
    else
      transform_piece<Direction::backward>(data + first, stride, lines);
  }
}

template <Direction direction>
void ComplexLines::transform_piece(Complex* data, std::ptrdiff_t stride, int lines) {
  const auto oriented = [](const Element& element) {
    return direction == Direction::forward ? element : swapped(element);
  };
  const int length = transform_.length(), full = lines / batch, rest = lines % batch;
  Element* const last = batches_.data() + std::ptrdiff_t{full} * length;
  for (int i = 0; i < length; ++i) {
    const Complex* row = data + i * stride;
    for (int b = 0; b < full; ++b)
      batches_[static_cast<std::size_t>(b * length + i)] = oriented(load_interleaved(row + b * batch));
    if (rest > 0) last[i] = oriented(load_some(row + full * batch, rest));
  }
  for (int b = 0; b * batch < lines; ++b)
    transform_.apply_in_place(batches_.data() + std::ptrdiff_t{b} * length, scratch_.data());
  for (int i = 0; i < length; ++i) {
    Complex* row = data + i * stride;
    for (int b = 0; b < full; ++b)
      store_interleaved(oriented(batches_[static_cast<std::size_t>(b * length + i)]), row + b * batch);
    if (rest > 0) store_some(oriented(last[i]), row + full * batch, rest);
  }
}

// From the transform Z of x[2m] + i x[2m+1] to that of x: X[k] = E + w^k O with E and O the transforms of the even and
// odd elements.
void RealLines::unpack_modes(Element* z) {
  const int half = length_ / 2;
  const Element first = z[0];
  z[0] = {first.re + first.im, Lanes{}};
  z[half] = {first.re - first.im, Lanes{}};
  for (int k = 1; 2 * k <= half; ++k) {
    const Element a = z[k], b = conj(z[half - k]);
    const Element even = (a + b) * 0.5, odd = times_minus_i(a - b) * roots_[static_cast<std::size_t>(k)] * 0.5;
    z[k] = even + odd;
    z[half - k] = conj(even - odd);
  }
}

// The inverse of `unpack_modes`, times 2.
void RealLines::pack_modes(Element* x) {
  const int half = length_ / 2;
  x[0] = {x[0].re + x[half].re, x[0].re - x[half].re};
  for (int k = 1; 2 * k <= half; ++k) {
    const Element a = x[k], b = conj(x[half - k]);
    const Element even = a + b, odd = times_i((a - b) * std::conj(roots_[static_cast<std::size_t>(k)]));
    x[k] = even + odd;
    x[half - k] = conj(even - odd);
  }
}

void RealLines::forward(const double* real, std::ptrdiff_t real_stride, Complex* spectrum,
                        std::ptrdiff_t spectrum_stride, int count) {
  for (int first = (count - 1) / batch * batch; first >= 0; first -= batch) {
    const int lines = std::min(batch, count - first);
    const double* rows = real + first * real_stride;
    if (is_even()) {
      gather_rows(rows, real_stride, lines, length_, numbers_of(batch_.data()));
    } else {
      gather_rows(rows, real_stride, lines, length_, numbers_of(scratch_.data()));
      for (int i = 0; i < length_; ++i)
        batch_[static_cast<std::size_t>(i)] = {load(numbers_of(scratch_.data()) + i * batch), Lanes{}};
    }
    Element* result = batch_.data();
    transform_.apply_in_place(result, scratch_.data());
    if (is_even()) unpack_modes(result);
    result[0].im = Lanes{};
    scatter_rows(numbers_of(result), 2 * modes_, numbers_of(spectrum + first * spectrum_stride), 2 * spectrum_stride,
                 lines);
  }
}

void RealLines::backward(const Complex* spectrum, std::ptrdiff_t spectrum_stride, double* real,
                         std::ptrdiff_t real_stride, int count) {
  for (int first = 0; first < count; first += batch) {
    const int lines = std::min(batch, count - first);
    gather_rows(numbers_of(spectrum + first * spectrum_stride), 2 * spectrum_stride, lines, 2 * modes_,
                numbers_of(batch_.data()));
    if (is_even()) {
      pack_modes(batch_.data());
    } else {
      batch_[0].im = Lanes{};
      for (int k = 1; k < modes_; ++k)
        batch_[static_cast<std::size_t>(length_ - k)] = conj(batch_[static_cast<std::size_t>(k)]);
    }
    const int complex_length = transform_.length();
    for (int i = 0; i < complex_length; ++i)
      batch_[static_cast<std::size_t>(i)] = swapped(batch_[static_cast<std::size_t>(i)]);
    Element* result = batch_.data();
    transform_.apply_in_place(result, scratch_.data());
    double* numbers = numbers_of(result);
    for (int i = 0; i < complex_length; ++i) {
      const Element element = swapped(result[i]);
      if (is_even())
        result[i] = element;
      else
        store(element.re, numbers + i * batch);
    }
    scatter_rows(numbers, length_, real + first * real_stride, real_stride, lines);
  }
}

}  // namespace sidestream::fft
