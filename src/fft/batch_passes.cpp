#include "fft/batch_passes.hpp"

#include <numbers>
#include <utility>

namespace sidestream::fft {

using Complex = std::complex<double>;

namespace {

template <int R>
struct Butterfly {
  // Odd radix: pairs j and R - j share their cosines and, but for the sign, their sines.
  static void apply(Element (&a)[R], const Complex* roots) {
    constexpr int half = (R - 1) / 2;
    Element sum[half], difference[half];
    for (int j = 0; j < half; ++j) {
      sum[j] = a[j + 1] + a[R - 1 - j];
      difference[j] = times_minus_i(a[j + 1] - a[R - 1 - j]);
    }
    const Element first = a[0];
    for (int j = 0; j < half; ++j) a[0] = a[0] + sum[j];
    for (int k = 1; k <= half; ++k) {
      Element even = first, odd = {};
      for (int j = 1; j <= half; ++j) {
        const Complex root = roots[j * k % R];
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
  static void apply(Element (&a)[2], const Complex*) {
    const Element difference = a[0] - a[1];
    a[0] = a[0] + a[1];
    a[1] = difference;
  }
};

template <>
struct Butterfly<4> {
  static void apply(Element (&a)[4], const Complex*) {
    const Element even = a[0] + a[2], odd = a[0] - a[2], even_next = a[1] + a[3], odd_next = times_minus_i(a[1] - a[3]);
    a[0] = even + even_next;
    a[1] = odd + odd_next;
    a[2] = even - even_next;
    a[3] = odd - odd_next;
  }
};

template <>
struct Butterfly<8> {
  static void apply(Element (&a)[8], const Complex*) {
    constexpr double root_half = std::numbers::sqrt2 / 2;
    Element even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
    Butterfly<4>::apply(even, nullptr);
    Butterfly<4>::apply(odd, nullptr);
    // times the eighth roots of unity
    odd[1] = Element{odd[1].re + odd[1].im, odd[1].im - odd[1].re} * root_half;
    odd[2] = times_minus_i(odd[2]);
    odd[3] = Element{odd[3].im - odd[3].re, -odd[3].re - odd[3].im} * root_half;
    for (int k = 0; k < 4; ++k) {
      a[k] = even[k] + odd[k];
      a[k + 4] = even[k] - odd[k];
    }
  }
};

template <int R, typename Pass>
void apply_radix(const Pass& pass, const Element* in, Element* out) {
  const int count = pass.count, stride = pass.stride;
  for (int p = 0; p < count; ++p) {
    const Complex* twiddle = pass.twiddles.data() + p * (R - 1);
    const Element* from = in + p * stride;
    Element* to = out + p * stride * R;
    for (int q = 0; q < stride; ++q) {
      Element a[R];
      for (int j = 0; j < R; ++j) a[j] = from[q + j * count * stride];
      Butterfly<R>::apply(a, pass.roots.data());
      to[q] = a[0];
      for (int j = 1; j < R; ++j) to[q + j * stride] = p == 0 ? a[j] : a[j] * twiddle[j - 1];
    }
  }
}

template <typename Pass>
void apply(const Pass& pass, const Element* in, Element* out) {
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
    default:
      return apply_radix<13>(pass, in, out);
  }
}

}  // namespace

// The last pass (count 1) writes where it reads, so that it can end in `data` whatever the number of passes.
void BatchTransform::apply_in_place(Element* data, Element* scratch) const {
  if (fftw_)
    return fftw_execute_split_dft(fftw_->plan.get(), Fftw::re(data), Fftw::im(data), Fftw::re(data), Fftw::im(data));
  Element *from = data, *to = scratch;
  for (const Pass& pass : passes_) {
    apply(pass, from, pass.count == 1 ? data : to);
    std::swap(from, to);
  }
}

}  // namespace sidestream::fft
