#include "sidestream/fft/real_line_transform.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "sidestream/core/random.hpp"

namespace sidestream::fft {
namespace {

TEST(RealLineTransform, GivesTheModesOfEachLine) {
  for (const int length : {1, 2, 7, 24, 37}) {
    const auto pixels = static_cast<std::size_t>(length), modes = pixels / 2 + 1;
    constexpr std::size_t count = 11;
    std::vector<double> lines(count * pixels);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = core::normal(2, 1, i);
    std::vector<std::complex<double>> found(count * modes);
    RealLineTransform transform(length);

    transform.forward(lines, found);

    ASSERT_EQ(transform.modes(), static_cast<int>(modes));
    for (std::size_t line = 0; line < count; ++line)
      for (std::size_t k = 0; k < modes; ++k) {
        std::complex<double> expected = 0;
        for (std::size_t i = 0; i < pixels; ++i)
          expected +=
              lines[line * pixels + i] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * i) / length);
        EXPECT_LT(std::abs(found[line * modes + k] - expected), 1e-13 * length) << length << " " << line << " " << k;
      }
  }
}

}  // namespace
}  // namespace sidestream::fft
