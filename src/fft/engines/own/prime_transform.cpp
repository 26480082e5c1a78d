#include "fft/engines/own/prime_transform.hpp"

#include <cstdint>

#include "fft/roots.hpp"

namespace sidestream::fft {

namespace {

std::vector<int> powers_of(std::int64_t base, int prime) {
  std::vector<int> powers;
  std::int64_t power = 1;
  do {
    powers.push_back(static_cast<int>(power));
    power = power * base % prime;
  } while (power != 1);
  return powers;
}

// Of the least number whose powers are all numbers from 1 to p - 1.
std::vector<int> powers_of_primitive_root(int prime) {
  for (int base = 2;; ++base)
    if (std::vector<int> powers = powers_of(base, prime); static_cast<int>(powers.size()) == prime - 1) return powers;
}

// In double, whatever the lines have.
std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& line) {
  const BatchTransform<double> transform(static_cast<int>(line.size()));
  std::vector<Element<double>> elements(line.size()), scratch(transform.scratch_length());
  for (std::size_t i = 0; i < line.size(); ++i) {
    elements[i].re[0] = line[i].real();
    elements[i].im[0] = line[i].imag();
  }
  transform.apply_in_place(elements.data(), scratch.data());
  std::vector<std::complex<double>> modes;
  for (const Element<double>& element : elements) modes.emplace_back(element.re[0], element.im[0]);
  return modes;
}

}  // namespace

template <typename T>
PrimeTransform<T>::PrimeTransform(int prime)
    : prime_(prime), convolution_(prime - 1), powers_(powers_of_primitive_root(prime)) {
  const std::size_t count = powers_.size();
  std::vector<std::complex<double>> roots;
  for (std::size_t q = 0; q < count; ++q) roots.push_back(root_of_unity(powers_[(count - q) % count], prime));
  for (const std::complex<double>& mode : transformed(roots)) {
    const std::complex<double> factor = mode / static_cast<double>(count);
    factors_.emplace_back(static_cast<T>(factor.real()), static_cast<T>(factor.imag()));
  }
}

template class PrimeTransform<double>;
template class PrimeTransform<float>;

}  // namespace sidestream::fft
