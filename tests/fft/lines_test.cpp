#include "fft/lines.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "fft/fftw.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;

// Lengths of every kind: tiny, powers of two, composites, primes.
constexpr int lengths[] = {2, 3, 5, 7, 9, 13, 16, 31, 32, 37, 48, 64, 96, 100, 127, 128, 192, 256};

Complex noise(std::uint64_t stream, std::uint64_t i) {
  return {core::normal(1, stream, 2 * i), core::normal(1, stream, 2 * i + 1)};
}

class Lines : public testing::TestWithParam<int> {};

TEST_P(Lines, BitsOfAComplexLineDoNotDependOnItsPlaceOrNeighbours) {
  const int n = GetParam();
  const auto size = static_cast<std::size_t>(n);
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    ComplexLines lines(n);
    std::vector<Complex> alone(size);
    for (std::size_t i = 0; i < size; ++i) alone[i] = noise(0, i);
    lines.apply(direction, alone.data(), 1, 1);

    for (std::size_t count : {2, 4, 7, 21})
      for (std::size_t place = 0; place < count; ++place) {
        std::vector<Complex> many(size * count);
        for (std::size_t i = 0; i < many.size(); ++i) many[i] = noise(1 + place, i);
        for (std::size_t i = 0; i < size; ++i) many[i * count + place] = noise(0, i);
        lines.apply(direction, many.data(), static_cast<std::ptrdiff_t>(count), static_cast<std::ptrdiff_t>(count));

        for (std::size_t i = 0; i < size; ++i)
          ASSERT_EQ(0, std::memcmp(&many[i * count + place], &alone[i], sizeof(Complex)));
      }
  }
}

TEST_P(Lines, BitsOfARealLineDoNotDependOnItsPlaceOrNeighbours) {
  const int n = GetParam();
  const auto size = static_cast<std::size_t>(n), modes = static_cast<std::size_t>(n / 2 + 1);
  RealLines lines(n);
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

  RealLines(n).backward(spectrum.data(), n, expected.data(), n, 1);
  RealLines(n).backward(stained.data(), n, actual.data(), n, 1);

  EXPECT_EQ(expected, actual);
}

INSTANTIATE_TEST_SUITE_P(Lengths, Lines, testing::ValuesIn(lengths));

// Vector codelets round otherwise, and which there are depends on the processor.
TEST(Fftw, PlansHaveNoVectorInstructions) {
  for (const int length : {17, 34, 37, 76, 97, 127, 1021}) {
    std::vector<double> numbers(static_cast<std::size_t>(2 * batch * length));
    double *const re = numbers.data(), *const im = re + batch;
    const fftw_iodim line{length, 2 * batch, 2 * batch}, lanes{batch, 1, 1};
    const Plan1d plan =
        make_plan([&] { return fftw_plan_guru_split_dft(1, &line, 1, &lanes, re, im, re, im, plan_flags); });
    const std::unique_ptr<char, decltype(&std::free)> text(fftw_sprint_plan(plan.get()), &std::free);

    EXPECT_EQ(std::string(text.get()).find("sse"), std::string::npos) << text.get();
    EXPECT_EQ(std::string(text.get()).find("avx"), std::string::npos) << text.get();
  }
}

}  // namespace
}  // namespace sidestream::fft
