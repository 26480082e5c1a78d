#include "fft/batch_transform.hpp"

#include <cmath>
#include <numbers>

#include "fft/batch_passes.hpp"

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

BatchTransform::Pass::Pass(int r, int m, int s) : radix(r), count(m), stride(s) {
  for (int j = 0; j < r; ++j) roots.push_back(root_of_unity(j, r));
  for (int p = 0; p < m; ++p)
    for (int j = 1; j < r; ++j) twiddles.push_back(root_of_unity(std::int64_t{p} * j, std::int64_t{r} * m));
}

BatchTransform::Fftw::Fftw(int length) {
  std::vector<Element> lines(static_cast<std::size_t>(length));
  Element* data = lines.data();
  const fftw_iodim line{length, 2 * batch, 2 * batch}, lanes{batch, 1, 1};
  plan = make_plan([&] {
    return fftw_plan_guru_split_dft(1, &line, 1, &lanes, re(data), im(data), re(data), im(data), plan_flags);
  });
}

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

}  // namespace sidestream::fft
