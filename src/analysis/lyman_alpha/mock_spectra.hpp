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

/// Into how many equal pixels a line of `cells` cells, each `width` km/s wide, is divided: the number whose width is
/// nearest to that of the spectrograph.
std::int64_t mock_pixels(const Spectrograph& spectrograph, std::int64_t cells, double width);

/// Throws core::Error with the bytes where so many lines of such pixels take more than 16 GiB, or pixels are narrower
/// than a hundredth of a cell.
void check_pixels(const Spectrograph& spectrograph, std::int64_t lines, std::int64_t cells, double width);

/// The flux of periodic lines of sight, one after the other, as the spectrograph sees them, `number` pixels a line.
/// The flux is that of cells, constant in each of them, so its features are those of a top hat of a cell at least;
/// its convolution with the profile is averaged over each pixel exactly (differences of an integral of error
/// functions), however narrow pixels and profile are. Both keep the mean. The noise of a pixel is Gaussian, and a
/// function of the seed, the line and the pixel.
std::vector<double> mock_flux(const Spectrograph& spectrograph, std::span<const double> flux, std::int64_t cells,
                              double width, std::int64_t number);

}  // namespace sidestream::analysis
