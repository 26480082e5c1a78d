#include <algorithm>

#include "fft/rows.hpp"

namespace sidestream::fft {

namespace {

// Number i of row l, at `rows[l * stride + i]`, becomes `columns[i * batch + l]`. Rows from `count` on read as zeros.
template <typename T>
void gather_rows(const T* rows, std::ptrdiff_t stride, int count, int length, T* columns) {
  int i = 0;
  if (count == batch)
    for (; i + batch <= length; i += batch) transpose(rows + i, stride, columns + i * batch, batch);
  for (; i < length; ++i)
    for (int l = 0; l < batch; ++l) columns[i * batch + l] = l < count ? rows[l * stride + i] : T{};
}

template <typename T>
void scatter_rows(const T* columns, int length, T* rows, std::ptrdiff_t stride, int count) {
  int i = 0;
  if (count == batch)
    for (; i + batch <= length; i += batch) transpose(columns + i * batch, batch, rows + i, stride);
  for (; i < length; ++i)
    for (int l = 0; l < count; ++l) rows[l * stride + i] = columns[i * batch + l];
}

template <typename T>
void swap_parts(Element<T>* elements, int count) {
  for (int i = 0; i < count; ++i)
    for_each_part<T>([&](int lane) { put(swapped(part_of(elements[i], lane)), elements[i], lane); });
}

template <typename T>
void clear_imaginary(Element<T>& element) {
  std::fill_n(element.im, batch, T{});
}

template <typename T>
void set_conjugate(const Element<T>& element, Element<T>& conjugate) {
  for_each_part<T>([&](int lane) { put(conj(part_of(element, lane)), conjugate, lane); });
}

}  // namespace

// From the transform Z of x[2m] + i x[2m+1] to that of x: X[k] = E + w^k O with E and O the transforms of the even and
// odd elements.
template <typename T>
void RealRows<T>::unpack_modes(Element<T>* z) {
  const int half = length_ / 2;
  for_each_part<T>([&](int lane) {
    const Part<T> first = part_of(z[0], lane);
    put<T>({first.re + first.im, Lanes<T>{}}, z[0], lane);
    put<T>({first.re - first.im, Lanes<T>{}}, z[half], lane);
  });
  for (int k = 1; 2 * k <= half; ++k)
    for_each_part<T>([&](int lane) {
      const Part<T> a = part_of(z[k], lane), b = conj(part_of(z[half - k], lane));
      const Part<T> even = (a + b) * T{0.5}, odd = times_minus_i(a - b) * roots_[static_cast<std::size_t>(k)] * T{0.5};
      put(even + odd, z[k], lane);
      put(conj(even - odd), z[half - k], lane);
    });
}

// The inverse of `unpack_modes`, times 2.
template <typename T>
void RealRows<T>::pack_modes(Element<T>* x) {
  const int half = length_ / 2;
  for_each_part<T>([&](int lane) {
    const Lanes<T> first = load(x[0].re + lane), last = load(x[half].re + lane);
    put<T>({first + last, first - last}, x[0], lane);
  });
  for (int k = 1; 2 * k <= half; ++k)
    for_each_part<T>([&](int lane) {
      const Part<T> a = part_of(x[k], lane), b = conj(part_of(x[half - k], lane));
      const Part<T> even = a + b, odd = times_i((a - b) * std::conj(roots_[static_cast<std::size_t>(k)]));
      put(even + odd, x[k], lane);
      put(conj(even - odd), x[half - k], lane);
    });
}

template <typename T>
void RealRows<T>::forward(const T* cells, std::ptrdiff_t cells_stride, Complex* modes, std::ptrdiff_t modes_stride,
                          int count) {
  Element<T>* const result = batch_.data();
  for (int first = 0; first < count; first += batch) {
    const int lines = std::min(batch, count - first);
    const T* rows = cells + first * cells_stride;
    if (is_even()) {
      gather_rows(rows, cells_stride, lines, length_, numbers_of(result));
    } else {
      T* const columns = numbers_of(scratch_.data());
      gather_rows(rows, cells_stride, lines, length_, columns);
      for (int i = 0; i < length_; ++i) {
        std::copy_n(columns + i * batch, batch, result[i].re);
        clear_imaginary(result[i]);
      }
    }
    transform_.apply_in_place(result, scratch_.data());
    if (is_even()) unpack_modes(result);
    clear_imaginary(result[0]);
    scatter_rows(numbers_of(result), 2 * kept_, numbers_of(modes + first * modes_stride), 2 * modes_stride, lines);
  }
}

template <typename T>
void RealRows<T>::backward(const Complex* modes, std::ptrdiff_t modes_stride, T* cells, std::ptrdiff_t cells_stride,
                           int count) {
  Element<T>* const work = batch_.data();
  const int complex_length = transform_.length();
  for (int first = 0; first < count; first += batch) {
    const int lines = std::min(batch, count - first);
    gather_rows(numbers_of(modes + first * modes_stride), 2 * modes_stride, lines, 2 * kept_, numbers_of(work));
    std::fill(work + kept_, work + length_ / 2 + 1, Element<T>{});
    if (is_even()) {
      pack_modes(work);
    } else {
      clear_imaginary(work[0]);
      for (int k = 1; 2 * k < length_; ++k) set_conjugate(work[k], work[length_ - k]);
    }
    swap_parts(work, complex_length);
    transform_.apply_in_place(work, scratch_.data());
    swap_parts(work, complex_length);
    T* const numbers = numbers_of(work);
    for (int i = 0; i < complex_length && !is_even(); ++i) std::copy_n(work[i].re, batch, numbers + i * batch);
    scatter_rows(numbers, length_, cells + first * cells_stride, cells_stride, lines);
  }
}

template <typename T>
void ComplexRows<T>::forward(const Complex* cells, std::ptrdiff_t cells_stride, Complex* modes,
                             std::ptrdiff_t modes_stride, int count) {
  Element<T>* const work = batch_.data();
  const int length = transform_.length();
  for (int first = 0; first < count; first += batch) {
    const int lines = std::min(batch, count - first);
    gather_rows(numbers_of(cells + first * cells_stride), 2 * cells_stride, lines, 2 * length, numbers_of(work));
    transform_.apply_in_place(work, scratch_.data());
    Complex* to = modes + first * modes_stride;
    scatter_rows(numbers_of(work), 2 * kept_.low, numbers_of(to), 2 * modes_stride, lines);
    scatter_rows(numbers_of(work + length - kept_.high), 2 * kept_.high, numbers_of(to + kept_.low), 2 * modes_stride,
                 lines);
  }
}

template <typename T>
void ComplexRows<T>::backward(const Complex* modes, std::ptrdiff_t modes_stride, Complex* cells,
                              std::ptrdiff_t cells_stride, int count) {
  Element<T>* const work = batch_.data();
  const int length = transform_.length();
  for (int first = 0; first < count; first += batch) {
    const int lines = std::min(batch, count - first);
    const Complex* from = modes + first * modes_stride;
    gather_rows(numbers_of(from), 2 * modes_stride, lines, 2 * kept_.low, numbers_of(work));
    std::fill(work + kept_.low, work + length - kept_.high, Element<T>{});
    gather_rows(numbers_of(from + kept_.low), 2 * modes_stride, lines, 2 * kept_.high,
                numbers_of(work + length - kept_.high));
    swap_parts(work, length);
    transform_.apply_in_place(work, scratch_.data());
    swap_parts(work, length);
    scatter_rows(numbers_of(work), 2 * length, numbers_of(cells + first * cells_stride), 2 * cells_stride, lines);
  }
}

template void RealRows<double>::forward(const double*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);
template void RealRows<double>::backward(const Complex*, std::ptrdiff_t, double*, std::ptrdiff_t, int);
template void RealRows<float>::forward(const float*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);
template void RealRows<float>::backward(const Complex*, std::ptrdiff_t, float*, std::ptrdiff_t, int);
template void ComplexRows<double>::forward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);
template void ComplexRows<double>::backward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);
template void ComplexRows<float>::forward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);
template void ComplexRows<float>::backward(const Complex*, std::ptrdiff_t, Complex*, std::ptrdiff_t, int);

}  // namespace sidestream::fft
