#include "analysis/lyman_alpha/mock_spectra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/at.hpp"
#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::analysis {

namespace {

using Numbers = std::vector<double>;

// A Gaussian profile does to flux what thermal motion at one temperature does to absorbers at rest.
class Smoothing {
 public:
  Smoothing(double resolution, std::size_t pixels, double width) : rest_(pixels), kelvin_(pixels, 1.0) {
    const double half_width_of_unit = std::sqrt(std::numbers::ln2);  // of exp(-x^2)
    scales_.depth_per_density = 1.0;
    scales_.width_per_root_kelvin = 0.5 * resolution / half_width_of_unit / width;
  }

  void apply(std::span<const double> flux, std::span<double> smooth) {
    thermal_optical_depth({flux, rest_, kelvin_}, scales_, work_, smooth);
  }

 private:
  LineScales scales_;
  Numbers rest_, kelvin_, work_;
};

// Averages over equal parts of a line.
void rebin(std::span<const double> flux, std::span<double> parts) {
  const double ratio = static_cast<double>(flux.size()) / static_cast<double>(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const double low = static_cast<double>(p) * ratio, high = static_cast<double>(p + 1) * ratio;
    double sum = 0.0;
    for (auto pixel = static_cast<std::size_t>(low); pixel < flux.size(); ++pixel) {
      const auto left = static_cast<double>(pixel);
      if (left >= high) break;
      sum += flux[pixel] * (std::min(left + 1.0, high) - std::max(left, low));
    }
    parts[p] = sum / ratio;
  }
}

void add_noise(const Spectrograph& spectrograph, std::int64_t line, std::span<double> flux) {
  constexpr std::uint64_t stream = 0x6e6f697365;
  constexpr int pixel_bits = 32;
  for (std::size_t pixel = 0; pixel < flux.size(); ++pixel)
    flux[pixel] += core::normal(static_cast<std::uint64_t>(spectrograph.seed), stream,
                                (static_cast<std::uint64_t>(line) << pixel_bits) + pixel) /
                   spectrograph.signal_to_noise;
}

}  // namespace

std::int64_t mock_pixels(const Spectrograph& spectrograph, std::int64_t pixels, double width) {
  if (spectrograph.pixel == 0.0) return pixels;
  const double number = static_cast<double>(pixels) * width / spectrograph.pixel;
  constexpr double most = 1e7;
  if (number > most)
    throw core::Error(fmt::format("a line of sight has {:.2g} pixels of {} km/s", number, spectrograph.pixel), "pixel",
                      "make them wider");
  return std::max(std::int64_t{1}, static_cast<std::int64_t>(std::llround(number)));
}

Numbers mock_flux(const Spectrograph& spectrograph, std::span<const double> flux, std::int64_t pixels, double width,
                  std::int64_t number) {
  const auto lines = static_cast<std::int64_t>(flux.size()) / pixels;
  Smoothing smoothing(spectrograph.resolution, at(pixels), width);
  Numbers smooth(at(pixels)), all(at(lines * number));
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::span<double> mock = std::span(all).subspan(at(line * number), at(number));
    std::ranges::copy(flux.subspan(at(line * pixels), at(pixels)), smooth.begin());
    if (spectrograph.resolution > 0.0) smoothing.apply(flux.subspan(at(line * pixels), at(pixels)), smooth);
    rebin(smooth, mock);
    if (spectrograph.signal_to_noise > 0.0) add_noise(spectrograph, line, mock);
  }
  return all;
}

}  // namespace sidestream::analysis
