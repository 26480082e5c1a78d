#include "sidestream/fft/engine.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <span>

#include "fft/lines.hpp"
#include "fft/rows.hpp"

namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;

// FNV-1a over the bytes of what follows.
class Fingerprint {
 public:
  void add(std::span<const Complex> numbers) {
    for (const std::byte one : std::as_bytes(numbers))
      value_ = (value_ ^ static_cast<std::uint64_t>(one)) * 1099511628211u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 14695981039346656037u;
};

double number(int i) {
  return (i * 7919 % 2003 - 1001) / 1024.0;
}

// Lines of all lengths up to 128, and some beyond, complex and real.
std::uint64_t fingerprint_of_engine() {
  Fingerprint all;
  std::vector<int> lengths{192, 243, 256, 257, 360, 1024};
  for (int n = 1; n <= 128; ++n) lengths.push_back(n);
  for (const int n : lengths) {
    std::vector<Complex> line(static_cast<std::size_t>(n)), modes(static_cast<std::size_t>(n / 2 + 1));
    std::vector<double> real(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      line[static_cast<std::size_t>(i)] = {number(2 * i), number(2 * i + 1)};
      real[static_cast<std::size_t>(i)] = number(i);
    }
    ComplexLines<double>(n, n).forward(line.data(), 1, line.data(), 1, 1);
    RealRows<double>(n, n / 2 + 1).forward(real.data(), n, modes.data(), n / 2 + 1, 1);
    all.add(line);
    all.add(modes);
  }
  return all.value();
}

// A change of bits is a new version of the engine: restarts with the one before are then refused, and this number is
// what the test found.
TEST(Engine, BitsAreThoseOfItsVersion) {
  if (engine.starts_with("fftw ")) GTEST_SKIP() << "FFTW chooses by the processor what it computes with";
  EXPECT_EQ(engine, "sidestream lines 1");
  EXPECT_EQ(fingerprint_of_engine(), 14824511196144275701u);
}

}  // namespace
}  // namespace sidestream::fft
