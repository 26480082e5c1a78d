#include "fft/batch_transform.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "fft/fftw.hpp"

namespace sidestream::fft {

using Complex = std::complex<double>;

namespace {

constexpr int largest_radix = 13;

// The lengths of the passes, or nothing when a prime factor is too large.
std::vector<int> radices_of(int length) {
  std::vector<int> radices;
  int twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  for (; twos > 4 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int prime = 3; prime <= largest_radix; prime += 2)
    for (; length % prime == 0; length /= prime) radices.push_back(prime);
  return length == 1 ? radices : std::vector<int>{};
}

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

}  // namespace

Complex root_of_unity(std::int64_t k, std::int64_t n) {
  k = (k % n + n) % n;
  if (2 * k > n) return std::conj(root_of_unity(n - k, n));
  if (4 * k > n) {  // the supplement of the angle
    const Complex root = root_of_unity(n - 2 * k, 2 * n);
    return {-root.real(), root.imag()};
  }
  if (8 * k > n) {  // the complement of the angle
    const Complex root = root_of_unity(n - 4 * k, 4 * n);
    return {-root.imag(), -root.real()};
  }
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / static_cast<long double>(n);
  return {static_cast<double>(std::cos(angle)), static_cast<double>(-std::sin(angle))};
}

// One pass of the transform of lines whose length so far is `stride`: lines of radix * count * stride elements.
struct BatchTransform::Pass {
  int radix, count, stride;
  std::vector<Complex> roots;     // of order radix
  std::vector<Complex> twiddles;  // exp(-2 pi i p j / (radix count)) for p < count, 0 < j < radix

  Pass(int r, int m, int s) : radix(r), count(m), stride(s) {
    for (int j = 0; j < r; ++j) roots.push_back(root_of_unity(j, r));
    for (int p = 0; p < m; ++p)
      for (int j = 1; j < r; ++j) twiddles.push_back(root_of_unity(std::int64_t{p} * j, std::int64_t{r} * m));
  }

  template <int R>
  void apply(const Element* in, Element* out) const {
    for (int p = 0; p < count; ++p) {
      const Complex* twiddle = twiddles.data() + p * (R - 1);
      const Element* from = in + p * stride;
      Element* to = out + p * stride * R;
      for (int q = 0; q < stride; ++q) {
        Element a[R];
        for (int j = 0; j < R; ++j) a[j] = from[q + j * count * stride];
        Butterfly<R>::apply(a, roots.data());
        to[q] = a[0];
        for (int j = 1; j < R; ++j) to[q + j * stride] = p == 0 ? a[j] : a[j] * twiddle[j - 1];
      }
    }
  }

  void apply(const Element* in, Element* out) const {
    switch (radix) {
      case 2:
        return apply<2>(in, out);
      case 3:
        return apply<3>(in, out);
      case 4:
        return apply<4>(in, out);
      case 5:
        return apply<5>(in, out);
      case 7:
        return apply<7>(in, out);
      case 8:
        return apply<8>(in, out);
      case 11:
        return apply<11>(in, out);
      default:
        return apply<13>(in, out);
    }
  }
};

// FFTW on the real and imaginary parts where they lie: element i of lane l is number 2 batch i + l, its imaginary part
// `batch` further.
struct BatchTransform::Fftw {
  Plan1d plan;

  explicit Fftw(int length) {
    std::vector<Element> lines(static_cast<std::size_t>(length));
    Element* data = lines.data();
    const fftw_iodim line{length, 2 * batch, 2 * batch}, lanes{batch, 1, 1};
    plan = make_plan([&] {
      return fftw_plan_guru_split_dft(1, &line, 1, &lanes, re(data), im(data), re(data), im(data), FFTW_ESTIMATE);
    });
  }
  void apply_in_place(Element* data) const {
    fftw_execute_split_dft(plan.get(), re(data), im(data), re(data), im(data));
  }

  static double* re(Element* element) { return reinterpret_cast<double*>(element); }
  static double* im(Element* element) { return re(element) + batch; }
};

BatchTransform::BatchTransform(int length) : length_(length) {
  const std::vector<int> radices = radices_of(length);
  if (radices.empty() && length > 1) fftw_ = std::make_unique<Fftw>(length);
  int stride = 1;
  for (const int radix : radices) {
    passes_.emplace_back(radix, length / stride / radix, stride);
    stride *= radix;
  }
}
BatchTransform::~BatchTransform() = default;
BatchTransform::BatchTransform(BatchTransform&&) noexcept = default;
BatchTransform& BatchTransform::operator=(BatchTransform&&) noexcept = default;

// The last pass (count 1) writes where it reads, so that it can end in `data` whatever the number of passes.
void BatchTransform::apply_in_place(Element* data, Element* scratch) const {
  if (fftw_) return fftw_->apply_in_place(data);
  Element *from = data, *to = scratch;
  for (const Pass& pass : passes_) {
    pass.apply(from, pass.count == 1 ? data : to);
    std::swap(from, to);
  }
}

}  // namespace sidestream::fft
