// What a spectrograph makes of lines of sight.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "analysis/lyman_alpha/mock_spectra.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using Numbers = std::vector<double>;

double mean(const Numbers& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// A dark pixel becomes the profile, averaged over the pixel: the difference of two error functions.
TEST(MockSpectra, SpreadADarkPixelByTheProfile) {
  constexpr std::size_t pixels = 200, dark = 3;
  constexpr double width = 2.5, resolution = 20.0;
  Numbers flux(pixels, 1.0);
  flux[dark] = 0.0;

  const Numbers mock = mock_flux({.resolution = resolution}, flux, pixels, width, pixels);

  const double sigma = resolution / std::sqrt(8 * std::log(2.0));
  double variance = 0.0;
  for (std::size_t j = 0; j < pixels; ++j) {
    const double away = (std::fmod(static_cast<double>(j + pixels - dark) + 100, 200) - 100) * width;
    const auto part = [&](double edge) { return 0.5 * std::erf((away + edge) / (std::sqrt(2.0) * sigma)); };
    EXPECT_NEAR(1.0 - mock[j], part(0.5 * width) - part(-0.5 * width), 1e-13);
    variance += (1.0 - mock[j]) * away * away;
  }
  EXPECT_NEAR(variance, sigma * sigma + width * width / 12, 1e-6);  // of the profile, and of a pixel
  EXPECT_NEAR(1 - mean(mock), 1.0 / pixels, 1e-14);
}

TEST(MockSpectra, AverageOverPixelsThatDivideTheLine) {
  const Numbers flux{0.0, 1.0, 0.5, 0.25, 0.75, 0.5};  // of one line

  EXPECT_EQ(mock_pixels({.pixel = 25.0}, 6, 10.0), 2);
  EXPECT_EQ(mock_pixels({.pixel = 14.0}, 6, 10.0), 4);
  EXPECT_EQ(mock_pixels({.pixel = 1e3}, 6, 10.0), 1);
  EXPECT_THROW(mock_pixels({.pixel = 1e-9}, 6, 10.0), core::Error);
  EXPECT_EQ(mock_flux({}, flux, 6, 10.0, 6), flux);
  EXPECT_EQ(mock_flux({}, flux, 6, 10.0, 2), (Numbers{0.5, 0.5}));
  const Numbers four = mock_flux({}, flux, 6, 10.0, 4), expected{0.5 / 1.5, 1.0 / 1.5, 0.625 / 1.5, 0.875 / 1.5};
  for (std::size_t j = 0; j < 4; ++j) EXPECT_NEAR(four[j], expected[j], 1e-15);
  for (const std::int64_t number : {1, 5, 7, 12, 13})
    EXPECT_NEAR(mean(mock_flux({}, flux, 6, 10.0, number)), 0.5, 1e-15) << number;
}

// Of N pixels the mean has the deviation s / sqrt(N), the variance that of s^2 sqrt(2 / N).
TEST(MockSpectra, HaveGaussianNoiseOfTheirSeed) {
  constexpr std::int64_t lines = 64, pixels = 256;
  constexpr double ratio = 20.0, all = lines * pixels;
  const Numbers flux(lines * pixels, 0.4);
  const auto noisy = [&](std::int64_t seed) {
    return mock_flux({.signal_to_noise = ratio, .seed = seed}, flux, pixels, 10.0, pixels);
  };

  const Numbers mock = noisy(1), other = noisy(2);

  double variance = 0.0, product = 0.0, next = 0.0;
  for (std::size_t i = 0; i < mock.size(); ++i) {
    variance += std::pow(mock[i] - 0.4, 2) / all;
    product += (mock[i] - 0.4) * (other[i] - 0.4) / all;
    next += (mock[i] - 0.4) * (mock[(i + pixels) % mock.size()] - 0.4) / all;
  }
  const double expected = 1 / (ratio * ratio);
  EXPECT_NEAR(mean(mock), 0.4, 5 / ratio / std::sqrt(all));
  EXPECT_NEAR(variance, expected, 5 * expected * std::sqrt(2 / all));
  EXPECT_NEAR(product, 0.0, 5 * expected / std::sqrt(all));  // of another seed
  EXPECT_NEAR(next, 0.0, 5 * expected / std::sqrt(all));     // of the next line
  EXPECT_EQ(noisy(1), mock);
  const Numbers first(flux.begin(), flux.begin() + pixels);  // a line has its noise whatever lines come after it
  const Numbers alone = mock_flux({.signal_to_noise = ratio, .seed = 1}, first, pixels, 10.0, pixels);
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), mock.begin()));
}

}  // namespace
}  // namespace sidestream::analysis
