#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sidestream::analysis {

/// What a spectrograph makes of a line of sight.
struct Spectrograph {
  double resolution = 0.0;       ///< full width at half maximum of its Gaussian profile [km/s]; 0: infinitely sharp
  double pixel = 0.0;            ///< about how wide its pixels are [km/s]; 0: those of the line
  double signal_to_noise = 0.0;  ///< of a pixel where all light comes through; 0: without noise
  std::int64_t seed = 0;         ///< of the noise

  bool is_perfect() const { return resolution == 0.0 && pixel == 0.0 && signal_to_noise == 0.0; }
};

/// Into how many equal pixels a line of `pixels` pixels, each `width` km/s wide, is divided: the number whose width is
/// nearest to that of the spectrograph. Throws core::Error where these are more than 10^7.
std::int64_t mock_pixels(const Spectrograph& spectrograph, std::int64_t pixels, double width);

/// The flux of periodic lines of sight, one after the other, as the spectrograph sees them, `number` pixels a line.
/// The flux at the middles of pixels, each standing for its pixel, is convolved with the profile exactly and averaged
/// over the new pixels, both of which keep its mean; the noise of a pixel is Gaussian, and a function of the seed, the
/// line and the pixel.
std::vector<double> mock_flux(const Spectrograph& spectrograph, std::span<const double> flux, std::int64_t pixels,
                              double width, std::int64_t number);

}  // namespace sidestream::analysis
