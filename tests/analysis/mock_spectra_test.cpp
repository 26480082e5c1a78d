// What a spectrograph makes of lines of sight.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/absorbing_gas.hpp"
#include "analysis/lyman_alpha/mock_spectra.hpp"

namespace sidestream::analysis {
namespace {

using Numbers = std::vector<double>;

double mean(const Numbers& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// What the profile of standard deviation `sigma` leaves, `away` from its middle, of a top hat of `width`.
double smooth_top_hat(double away, double width, double sigma) {
  const auto part = [&](double edge) { return 0.5 * std::erf((away + edge) / (std::sqrt(2.0) * sigma)); };
  return part(0.5 * width) - part(-0.5 * width);
}

// A dark cell becomes the profile, averaged over the cell and over the pixel: here by Simpson's rule, in pieces of
// which a hundred are a standard deviation. Pixels and profiles may be narrower than the cell.
TEST(MockSpectra, AreTheFluxOfCellsSmoothedAndAveragedOverPixels) {
  constexpr std::size_t cells = 40, dark = 3;
  constexpr double width = 17.7, length = cells * width;
  Numbers flux(cells, 1.0);
  flux[dark] = 0.0;
  for (const double resolution : {1.0, 7.0, 20.0, 90.0})
    for (const std::int64_t pixels : {27, 40, 280, 1001}) {
      const Numbers mock = mock_flux({.resolution = resolution}, flux, cells, width, pixels);

      const double sigma = resolution / std::sqrt(8 * std::log(2.0)), pixel = length / static_cast<double>(pixels);
      const int pieces = 2 * static_cast<int>(std::ceil(50 * pixel / sigma));
      double worst = 0.0;
      for (std::size_t p = 0; p < mock.size(); ++p) {
        double sum = 0.0;
        for (int n = 0; n <= pieces; ++n) {
          const double place = (static_cast<double>(p) + static_cast<double>(n) / pieces) * pixel,
                       away = std::remainder(place - (dark + 0.5) * width, length);
          sum += (n == 0 || n == pieces ? 1 : n % 2 == 0 ? 2 : 4) * smooth_top_hat(away, width, sigma);
        }
        worst = std::max(worst, std::abs(1 - mock[p] - sum / 3 / pieces));
      }
      EXPECT_LT(worst, 1e-8) << resolution << " km/s in " << pixels << " pixels";
      EXPECT_NEAR(1 - mean(mock), 1.0 / cells, 1e-13);
    }
}

// Of the profile, of the cell and of the pixel.
TEST(MockSpectra, HaveTheVarianceOfAllTheirProfiles) {
  constexpr std::size_t pixels = 200, dark = 100;
  constexpr double width = 2.5, resolution = 20.0;
  Numbers flux(pixels, 1.0);
  flux[dark] = 0.0;

  const Numbers mock = mock_flux({.resolution = resolution}, flux, pixels, width, pixels);

  const double sigma = resolution / std::sqrt(8 * std::log(2.0));
  double variance = 0.0;
  for (std::size_t j = 0; j < pixels; ++j)
    variance += (1.0 - mock[j]) * std::pow((static_cast<double>(j) - dark) * width, 2);
  EXPECT_NEAR(variance, sigma * sigma + width * width / 6, 1e-6);
}

// A profile that is wider than the line leaves its mean.
TEST(MockSpectra, OfAWideProfileAreTheMean) {
  const Numbers flux{0.0, 1.0, 0.5, 0.25, 0.75, 0.5};

  for (const double pixel : mock_flux({.resolution = 1e3}, flux, 6, 10.0, 9)) EXPECT_NEAR(pixel, 0.5, 1e-12);
}

TEST(MockSpectra, OfAbsurdPixelsAreRefusedWithTheirBytes) {
  const auto complaint = [](double pixel, std::int64_t lines) {
    return test::message_of([&] { check_pixels({.pixel = pixel}, lines, 128, 10.0); });
  };

  EXPECT_THAT(complaint(0.01, 100), testing::HasSubstr("take 0.0954 GiB"));
  EXPECT_THAT(complaint(0.2, 1000000), testing::HasSubstr("GiB"));
  EXPECT_NO_THROW(check_pixels({.pixel = 0.1}, 100, 128, 10.0));
  EXPECT_NO_THROW(check_pixels({.resolution = 7.0}, 100, 128, 10.0));
}

TEST(MockSpectra, AverageOverPixelsThatDivideTheLine) {
  const Numbers flux{0.0, 1.0, 0.5, 0.25, 0.75, 0.5};  // of one line

  EXPECT_EQ(mock_pixels({.pixel = 25.0}, 6, 10.0), 2);
  EXPECT_EQ(mock_pixels({.pixel = 14.0}, 6, 10.0), 4);
  EXPECT_EQ(mock_pixels({.pixel = 1e3}, 6, 10.0), 1);
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
