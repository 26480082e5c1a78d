#include "fft/lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "fft/rows.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;

// Lengths of every kind: tiny, powers of two, composites, primes.
constexpr int lengths[] = {2, 3, 5, 7, 9, 13, 16, 31, 32, 34, 37, 48, 64, 96, 100, 127, 128, 192, 256};

Complex noise(std::uint64_t stream, std::uint64_t i) {
  return {core::normal(1, stream, 2 * i), core::normal(1, stream, 2 * i + 1)};
}

class Lines : public testing::TestWithParam<int> {};

TEST_P(Lines, BitsOfAComplexLineDoNotDependOnItsPlaceOrNeighbours) {
  const int n = GetParam();
  const auto size = static_cast<std::size_t>(n);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    ComplexLines<double> lines(n, n);
    const auto apply = [&](std::vector<Complex>& data, std::ptrdiff_t count) {
      direction == Direction::forward ? lines.forward(data.data(), count, data.data(), count, count)
                                      : lines.backward(data.data(), count, data.data(), count, count);
    };
    std::vector<Complex> alone(size);
    for (std::size_t i = 0; i < size; ++i) alone[i] = noise(0, i);
    apply(alone, 1);

    for (std::size_t count : {2, 4, 7, 21})
      for (std::size_t place = 0; place < count; ++place) {
        std::vector<Complex> many(size * count);
        for (std::size_t i = 0; i < many.size(); ++i) many[i] = noise(1 + place, i);
        for (std::size_t i = 0; i < size; ++i) many[i * count + place] = noise(0, i);
        apply(many, static_cast<std::ptrdiff_t>(count));

        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(0, std::memcmp(&many[i * count + place], &alone[i], sizeof(Complex)));
      }
  }
}

TEST_P(Lines, BitsOfARealLineDoNotDependOnItsPlaceOrNeighbours) {
  const int n = GetParam();
  const auto size = static_cast<std::size_t>(n), modes = static_cast<std::size_t>(n / 2 + 1);
  RealRows<double> lines(n, n / 2 + 1);
  std::vector<double> alone(size), back(size);
  std::vector<Complex> spectrum(modes);
  for (std::size_t i = 0; i < size; ++i) alone[i] = noise(0, i).real();
  lines.forward(alone.data(), n, spectrum.data(), n, 1);
  lines.backward(spectrum.data(), n, back.data(), n, 1);

  constexpr std::size_t count = 21;
  for (std::size_t offset : {0, 1}) {  // aligned and not
    std::vector<double> many(offset + size * count), many_back(offset + size * count);
    std::vector<Complex> spectra(offset + modes * count);
    for (std::size_t l = 0; l < count; ++l)
      for (std::size_t i = 0; i < size; ++i)
        many[offset + l * size + i] = l % 5 == 3 ? alone[i] : noise(l + 1, i).real();
    lines.forward(&many[offset], n, &spectra[offset], n / 2 + 1, static_cast<int>(count));
    lines.backward(&spectra[offset], n / 2 + 1, &many_back[offset], n, static_cast<int>(count));

    for (std::size_t l = 3; l < count; l += 5) {
      ASSERT_EQ(0, std::memcmp(&spectra[offset + l * modes], spectrum.data(), modes * sizeof(Complex)));
      ASSERT_EQ(0, std::memcmp(&many_back[offset + l * size], back.data(), size * sizeof(double)));
    }
  }
}

TEST_P(Lines, BackwardOfARealLineDisregardsImaginaryPartsThatARealLineCannotHave) {
  const int n = GetParam();
  std::vector<Complex> spectrum(static_cast<std::size_t>(n / 2 + 1)), stained;
  for (std::size_t i = 0; i < spectrum.size(); ++i) spectrum[i] = noise(0, i);
  spectrum.front().imag(0.0);
  if (n % 2 == 0) spectrum.back().imag(0.0);
  stained = spectrum;
  stained.front().imag(3.0);
  if (n % 2 == 0) stained.back().imag(-2.0);
  std::vector<double> expected(static_cast<std::size_t>(n)), actual(static_cast<std::size_t>(n));

  RealRows<double>(n, n / 2 + 1).backward(spectrum.data(), n, expected.data(), n, 1);
  RealRows<double>(n, n / 2 + 1).backward(stained.data(), n, actual.data(), n, 1);

  EXPECT_EQ(expected, actual);
}

// The error grows with the logarithm of the length; large primes go through up to three convolutions in each other.
constexpr double relative_round_off = 2e-15;

constexpr float float_round_off = 1e-6F;

class LineModes : public testing::TestWithParam<int> {
 protected:
  using Precise = std::complex<long double>;

  // sum_i line(i) exp(sign 2 pi i k / n)
  static std::vector<Precise> direct_sums(const std::vector<Complex>& line, int sign) {
    const auto n = std::ssize(line);
    std::vector<Precise> roots, sums(line.size());
    for (std::ptrdiff_t k = 0; k < n; ++k)
      roots.push_back(std::polar(1.0L, sign * 2 * std::numbers::pi_v<long double> * k / n));
    for (std::ptrdiff_t k = 0; k < n; ++k)
      for (std::ptrdiff_t i = 0; i < n; ++i)
        sums[static_cast<std::size_t>(k)] +=
            Precise(line[static_cast<std::size_t>(i)]) * roots[static_cast<std::size_t>(i * k % n)];
    return sums;
  }
  // Over their root mean square.
  template <typename T>
  static double error(const std::vector<T>& found, const std::vector<Precise>& exact) {
    double error = 0.0, power = 0.0;
    for (std::size_t k = 0; k < found.size(); ++k) {
      error += static_cast<double>(std::norm(exact[k] - Precise(found[k])));
      power += static_cast<double>(std::norm(exact[k]));
    }
    return std::sqrt(error / power);
  }

  const int n = GetParam();
  const std::size_t size = static_cast<std::size_t>(n), half = size / 2 + 1;
};

TEST_P(LineModes, AreTheDirectSums) {
  std::vector<Complex> line(size), forth(size), back(size);
  for (std::size_t i = 0; i < size; ++i) line[i] = noise(0, i);

  ComplexLines<double>(n, n).forward(line.data(), 1, forth.data(), 1, 1);
  ComplexLines<double>(n, n).backward(line.data(), 1, back.data(), 1, 1);

  EXPECT_LT(error(forth, direct_sums(line, -1)), relative_round_off);
  EXPECT_LT(error(back, direct_sums(line, 1)), relative_round_off);
}

TEST_P(LineModes, OfRealLinesAreTheDirectSums) {
  std::vector<double> line(size), back(size);
  std::vector<Complex> whole(size), modes(half), full(size);
  for (std::size_t i = 0; i < size; ++i) whole[i] = line[i] = noise(0, i).real();
  for (std::size_t k = 0; k < half; ++k) modes[k] = noise(1, k);
  for (std::size_t k = 0; k < half; ++k) {
    if (k == 0 || 2 * k == size) modes[k].imag(0.0);
    full[(size - k) % size] = std::conj(modes[k]);
    full[k] = modes[k];
  }
  const std::vector<Precise> lines_back = direct_sums(full, 1);
  std::vector<Complex> forth(half);

  RealRows<double>(n, n / 2 + 1).forward(line.data(), n, forth.data(), n / 2 + 1, 1);
  RealRows<double>(n, n / 2 + 1).backward(modes.data(), n / 2 + 1, back.data(), n, 1);

  EXPECT_LT(error(forth, direct_sums(whole, -1)), relative_round_off);
  EXPECT_LT(error(back, lines_back), relative_round_off);
}

TEST_P(LineModes, OfFloatsAreTheDirectSums) {
  std::vector<std::complex<float>> line(size), forth(size);
  std::vector<Complex> precise(size), real_precise(size);
  std::vector<float> real(size);
  for (std::size_t i = 0; i < size; ++i) {
    precise[i] = line[i] = std::complex<float>(noise(0, i));
    real_precise[i] = real[i] = line[i].real();
  }
  std::vector<std::complex<float>> real_forth(half);

  ComplexLines<float>(n, n).forward(line.data(), 1, forth.data(), 1, 1);
  RealRows<float>(n, n / 2 + 1).forward(real.data(), n, real_forth.data(), n / 2 + 1, 1);

  EXPECT_LT(error(forth, direct_sums(precise, -1)), float_round_off);
  EXPECT_LT(error(real_forth, direct_sums(real_precise, -1)), float_round_off);
}

INSTANTIATE_TEST_SUITE_P(Lengths, Lines, testing::ValuesIn(lengths));
INSTANTIATE_TEST_SUITE_P(Lengths, LineModes, testing::ValuesIn(lengths));

// Primes up to some 500, and products of them.
constexpr int awkward_lengths[] = {17,  19,  23,  29,  41,  43,     47,      53,     59,     83,      107,     131,
                                   163, 167, 179, 227, 251, 257,    263,     347,    359,    383,     467,     479,
                                   487, 499, 503, 509, 289, 2 * 47, 17 * 19, 8 * 31, 7 * 37, 23 * 29, 3 * 503, 1021};
INSTANTIATE_TEST_SUITE_P(AwkwardLengths, LineModes, testing::ValuesIn(awkward_lengths));

}  // namespace
}  // namespace sidestream::fft
