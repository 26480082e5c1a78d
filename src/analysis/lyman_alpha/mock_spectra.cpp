#include "analysis/lyman_alpha/mock_spectra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "analysis/at.hpp"
#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/math.hpp"
#include "sidestream/core/random.hpp"

namespace sidestream::analysis {

namespace {

using Numbers = std::vector<double>;

// What a Gaussian profile adds, on the way from -infinity to x, to the integral of a flux that jumps up by 1 at 0, in
// units of its `width` sqrt(2) sigma: half the integral of the complementary error function from |x| on.
double integral_beside_jump(double x) {
  const double away = std::abs(x);
  if (away >= profile_reach) return 0.0;
  return 0.5 * std::numbers::inv_sqrtpi * core::exp(-away * away) - away * (0.5 - half_error_function(away));
}

// Jumps of the flux from cell to cell within the reach of the profile, from the one before the cell `first` on.
struct NearJumps {
  std::int64_t first = 0;
  Numbers weights;  // what each adds to the integral of the flux, for a jump of 1
};

NearJumps jumps_near(double edge, double width) {
  const double reach = profile_reach * width;
  NearJumps near{static_cast<std::int64_t>(std::ceil(edge - reach)), {}};
  for (std::int64_t cell = near.first; static_cast<double>(cell) <= edge + reach; ++cell)
    near.weights.push_back(width * integral_beside_jump((edge - static_cast<double>(cell)) / width));
  return near;
}

double sum_of(const NearJumps& near, std::span<const double> flux) {
  const auto cells = static_cast<std::int64_t>(flux.size());
  const auto cell_at = [&](std::int64_t cell) { return at((cell % cells + cells) % cells); };
  std::size_t cell = cell_at(near.first);
  double before = flux[cell_at(near.first - 1)], sum = 0.0;
  for (const double weight : near.weights) {
    sum += weight * (flux[cell] - before);
    before = flux[cell];
    cell = cell + 1 == flux.size() ? 0 : cell + 1;
  }
  return sum;
}

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

// To averages over `number` parts of each line, what the profile of the `width` sqrt(2) sigma, in cells, changes of
// them: the difference of an integral at the two edges of a part. So the mean of a line stays as it is.
void smooth(std::span<const double> flux, std::int64_t cells, double width, std::int64_t number, Numbers& parts) {
  const double part = static_cast<double>(cells) / static_cast<double>(number);
  const std::int64_t lines = static_cast<std::int64_t>(flux.size()) / cells;
  for (std::int64_t edge = 0; edge < number; ++edge) {
    const NearJumps near = jumps_near(static_cast<double>(edge) * part, width);
    for (std::int64_t line = 0; line < lines; ++line) {
      const double change = sum_of(near, flux.subspan(at(line * cells), at(cells))) / part;
      parts[at(line * number + edge)] -= change;
      parts[at(line * number + (edge + number - 1) % number)] += change;
    }
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

std::int64_t mock_pixels(const Spectrograph& spectrograph, std::int64_t cells, double width) {
  if (spectrograph.pixel == 0.0) return cells;
  return std::max(std::int64_t{1}, std::int64_t{std::llround(static_cast<double>(cells) * width / spectrograph.pixel)});
}

void check_pixels(const Spectrograph& spectrograph, std::int64_t lines, std::int64_t cells, double width) {
  constexpr double most_of_a_cell = 100.0, most_bytes = 0x1p34;
  const double number = spectrograph.pixel == 0.0 ? static_cast<double>(cells)
                                                  : static_cast<double>(cells) * width / spectrograph.pixel,
               bytes = static_cast<double>(lines) * number * sizeof(double);
  if (number <= most_of_a_cell * static_cast<double>(cells) && bytes <= most_bytes) return;
  throw core::Error(
      fmt::format("{} mock spectra of {:.3g} pixels of {:g} km/s take {:.3g} GiB, of cells of {:.3g} km/s", lines,
                  number, spectrograph.pixel, bytes / 0x1p30, width),
      "pixel",
      fmt::format("make pixels wider, a hundredth of a cell at least ({:.2g} km/s), or ask for "
                  "fewer lines",
                  width / most_of_a_cell));
}

Numbers mock_flux(const Spectrograph& spectrograph, std::span<const double> flux, std::int64_t cells, double width,
                  std::int64_t number) {
  const std::int64_t lines = static_cast<std::int64_t>(flux.size()) / cells;
  Numbers all(at(lines * number));
  const auto line_of = [&](std::int64_t line) { return std::span(all).subspan(at(line * number), at(number)); };
  for (std::int64_t line = 0; line < lines; ++line) rebin(flux.subspan(at(line * cells), at(cells)), line_of(line));
  const double half_width_of_unit = std::sqrt(std::numbers::ln2);  // of exp(-x^2)
  if (spectrograph.resolution > 0.0)
    smooth(flux, cells, 0.5 * spectrograph.resolution / half_width_of_unit / width, number, all);
  if (spectrograph.signal_to_noise > 0.0)
    for (std::int64_t line = 0; line < lines; ++line) add_noise(spectrograph, line, line_of(line));
  return all;
}

}  // namespace sidestream::analysis
