#include "fft/engines/own/batch_passes.hpp"

#include <numbers>
#include <utility>

namespace sidestream::fft {

namespace {

template <int R>
struct Butterfly {
  // Odd radix: pairs j and R - j share their cosines and, but for the sign, their sines.
  template <typename T>
  static void apply(Part<T> (&a)[R], const std::complex<T>* roots) {
    constexpr int half = (R - 1) / 2;
    Part<T> sum[half], difference[half];
    for (int j = 0; j < half; ++j) {
      sum[j] = a[j + 1] + a[R - 1 - j];
      difference[j] = times_minus_i(a[j + 1] - a[R - 1 - j]);
    }
    const Part<T> first = a[0];
    for (int j = 0; j < half; ++j) a[0] = a[0] + sum[j];
    for (int k = 1; k <= half; ++k) {
      Part<T> even = first, odd = {};
      for (int j = 1; j <= half; ++j) {
        const std::complex<T> root = roots[j * k % R];
        even = even + sum[j - 1] * root.real();
        odd = odd + difference[j - 1] * -root.imag();
      }
      a[k] = even + odd;
      a[R - k] = even - odd;
    }
  }
};

template <>
struct Butterfly<2> {
  template <typename T>
  static void apply(Part<T> (&a)[2], const std::complex<T>*) {
    const Part<T> difference = a[0] - a[1];
    a[0] = a[0] + a[1];
    a[1] = difference;
  }
};

template <>
struct Butterfly<4> {
  template <typename T>
  static void apply(Part<T> (&a)[4], const std::complex<T>*) {
    const Part<T> even = a[0] + a[2], odd = a[0] - a[2], even_next = a[1] + a[3], odd_next = times_minus_i(a[1] - a[3]);
    a[0] = even + even_next;
    a[1] = odd + odd_next;
    a[2] = even - even_next;
    a[3] = odd - odd_next;
  }
};

template <>
struct Butterfly<8> {
  template <typename T>
  static void apply(Part<T> (&a)[8], const std::complex<T>*) {
    constexpr T root_half = std::numbers::sqrt2_v<T> / 2;
    Part<T> even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<4>::apply<T>(even, nullptr);
    Butterfly<4>::apply<T>(odd, nullptr);
    // times the eighth roots of unity
    odd[1] = Part<T>{odd[1].re + odd[1].im, odd[1].im - odd[1].re} * root_half;
    odd[2] = times_minus_i(odd[2]);
    odd[3] = Part<T>{odd[3].im - odd[3].re, -odd[3].re - odd[3].im} * root_half;
    for (int k = 0; k < 4; ++k) {
      a[k] = even[k] + odd[k];
      a[k + 4] = even[k] - odd[k];
    }
  }
};

template <int R, typename T, typename Pass>
void apply_radix(const Pass& pass, const Element<T>* in, Element<T>* out) {
  const int count = pass.count, stride = pass.stride;
  for (int p = 0; p < count; ++p) {
    const std::complex<T>* twiddle = pass.twiddles.data() + p * (R - 1);
    const Element<T>* from = in + p * stride;
    Element<T>* to = out + p * stride * R;
    for (int q = 0; q < stride; ++q)
      for_each_part<T>([&](int lane) {
        Part<T> a[R];
        for (int j = 0; j < R; ++j) a[j] = part_of(from[q + j * count * stride], lane);
        Butterfly<R>::apply(a, pass.roots.data());
        put(a[0], to[q], lane);
        for (int j = 1; j < R; ++j) put(p == 0 ? a[j] : a[j] * twiddle[j - 1], to[q + j * stride], lane);
      });
  }
}

template <typename T, typename Pass>
void apply_prime(const Pass& pass, const Element<T>* in, Element<T>* out, Element<T>* scratch) {
  const int radix = pass.radix, count = pass.count, stride = pass.stride;
  for (int p = 0; p < count; ++p) {
    const std::complex<T>* twiddle = pass.twiddles.data() + p * (radix - 1);
    for (int q = 0; q < stride; ++q) {
      Element<T>* to = out + p * stride * radix + q;
      pass.prime->apply(in + p * stride + q, count * stride, to, stride, scratch);
      for (int j = 1; j < radix && p > 0; ++j)
        for_each_part<T>([&](int lane) { put(part_of(to[j * stride], lane) * twiddle[j - 1], to[j * stride], lane); });
    }
  }
}

template <typename T, typename Pass>
void apply(const Pass& pass, const Element<T>* in, Element<T>* out, Element<T>* scratch) {
  switch (pass.radix) {
    case 2:
      return apply_radix<2>(pass, in, out);
    case 3:
      return apply_radix<3>(pass, in, out);
    case 4:
      return apply_radix<4>(pass, in, out);
    case 5:
      return apply_radix<5>(pass, in, out);
    case 7:
      return apply_radix<7>(pass, in, out);
    case 8:
      return apply_radix<8>(pass, in, out);
    case 11:
      return apply_radix<11>(pass, in, out);
    case 13:
      return apply_radix<13>(pass, in, out);
    default:
      return apply_prime(pass, in, out, scratch);
  }
}

}  // namespace

// The last pass (count 1) writes where it reads, so that it can end in `data` whatever the number of passes.
template <typename T>
void BatchTransform<T>::apply_in_place(Element<T>* data, Element<T>* scratch) const {
  Element<T>*from = data, *to = scratch;
  for (const typename Steps::Pass& pass : steps_->passes) {
    apply(pass, from, pass.count == 1 ? data : to, scratch + length_);
    std::swap(from, to);
  }
}

// With y the elements in the order of the powers of g: X[g^-q] = x[0] + sum over r of y[r] exp(-2 pi i g^(r-q) / p).
template <typename T>
void PrimeTransform<T>::apply(const Element<T>* from, std::ptrdiff_t from_stride, Element<T>* to,
                              std::ptrdiff_t to_stride, Element<T>* scratch) const {
  const int count = prime_ - 1;
  const Element<T> first = from[0];
  for (int q = 0; q < count; ++q) scratch[q] = from[powers_[static_cast<std::size_t>(q)] * from_stride];
  convolution_.apply_in_place(scratch, scratch + count);
  for_each_part<T>([&](int lane) {
    const Part<T> one = part_of(first, lane);
    put(one + part_of(scratch[0], lane), *to, lane);
    for (int q = 0; q < count; ++q) {
      const Part<T> product = swapped(part_of(scratch[q], lane) * factors_[static_cast<std::size_t>(q)]);
      put(q == 0 ? product + swapped(one) : product, scratch[q], lane);
    }
  });
  convolution_.apply_in_place(scratch, scratch + count);
  for (int q = 0; q < count; ++q) {
    Element<T>& element = to[powers_[static_cast<std::size_t>((count - q) % count)] * to_stride];
    for_each_part<T>([&](int lane) { put(swapped(part_of(scratch[q], lane)), element, lane); });
  }
}

template void BatchTransform<double>::apply_in_place(Element<double>*, Element<double>*) const;
template void BatchTransform<float>::apply_in_place(Element<float>*, Element<float>*) const;

}  // namespace sidestream::fft
