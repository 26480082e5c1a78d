#include "fft/batch_transform.hpp"

#include <algorithm>
#include <complex>

#include "fft/engines/own/batch_passes.hpp"
#include "fft/roots.hpp"
#include "sidestream/fft/engine.hpp"

namespace sidestream::fft {

const std::string_view engine = "sidestream lines 1";

using Complex = std::complex<double>;

namespace {

// The lengths of the passes.
std::vector<int> radices_of(int length) {
  std::vector<int> radices;
  int twos = 0;
  for (; length % 2 == 0; length /= 2) ++twos;
  for (; twos > 4 || twos == 3; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (int prime = 3; length > 1; prime += 2)
    for (; length % prime == 0; length /= prime) radices.push_back(prime);
  return radices;
}

template <typename T>
std::complex<T> rounded(const Complex& number) {
  return {static_cast<T>(number.real()), static_cast<T>(number.imag())};
}

}  // namespace

template <typename T>
BatchTransform<T>::Steps::Pass::Pass(int r, int m, int s) : radix(r), count(m), stride(s) {
  if (r > largest_radix) prime = std::make_unique<PrimeTransform<T>>(r);
  for (int j = 0; j < r; ++j) roots.push_back(rounded<T>(root_of_unity(j, r)));
  for (int p = 0; p < m; ++p)
    for (int j = 1; j < r; ++j) twiddles.push_back(rounded<T>(root_of_unity(std::int64_t{p} * j, std::int64_t{r} * m)));
}

template <typename T>
BatchTransform<T>::BatchTransform(int length) : length_(length), scratch_length_(static_cast<std::size_t>(length)) {
  auto steps = std::make_shared<Steps>();
  int stride = 1;
  std::size_t of_primes = 0;
  for (const int radix : radices_of(length)) {
    const typename Steps::Pass& pass = steps->passes.emplace_back(radix, length / stride / radix, stride);
    stride *= radix;
    if (pass.prime) of_primes = std::max(of_primes, pass.prime->scratch_length());
  }
  scratch_length_ += of_primes;
  steps_ = std::move(steps);
}

template BatchTransform<double>::BatchTransform(int);
template BatchTransform<float>::BatchTransform(int);

}  // namespace sidestream::fft
