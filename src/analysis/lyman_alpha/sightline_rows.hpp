#pragma once

#include <algorithm>
#include <memory>
#include <span>

namespace sidestream::analysis {

/// The cells of a whole line through a periodic box, in the order in which light recedes: number density of the
/// absorbers [proper 1/cm^3], their peculiar velocity along the line [km/s] and temperature [K].
struct Sightline {
  std::span<const double> density, velocity, temperature;
};

/// What turns the cells of a sightline into optical depths. A pixel is as wide in velocity as a cell by the Hubble
/// flow.
struct LineScales {
  double depth_per_density = 0.0;      ///< optical depth of a density [cm^3] without motion
  double pixels_per_velocity = 0.0;    ///< [s/km]
  double width_per_root_kelvin = 0.0;  ///< Doppler parameter [pixels] at 1 K
  double damping_width = 0.0;          ///< Voigt parameter times Doppler parameter [pixels]
};

/// From where on (in Doppler parameters) a thermal profile counts as nothing: erfc(5.5) = 7e-15.
constexpr double profile_reach = 5.5;

/// Room that calls share. (A vector would leave functions of its own in the kernels of each instruction set, of which a
/// program takes any one.)
class SharedRoom {
 public:
  /// So many zeros, until the next call.
  std::span<double> zeros(std::size_t count) {
    if (count > size_) room_ = std::make_unique_for_overwrite<double[]>(size_ = count);
    std::fill_n(room_.get(), count, 0.0);
    return {room_.get(), count};
  }

 private:
  std::unique_ptr<double[]> room_;
  std::size_t size_ = 0;
};

// Loops over cells, for every instruction set.
#pragma GCC visibility push(default)

/// Half the error function to 4e-15, exactly +-1/2 from `profile_reach` on, and Dawson's integral to 1e-12 (from there
/// on to 3e-8 of it), for tests.
double half_error_function(double x);
double dawson_integral(double x);

/// Whether all densities and temperatures are finite and not negative, and all velocities and Doppler parameters below
/// `most_pixels`.
bool is_physical(const Sightline& cells, const LineScales& scales, double most_pixels);

/// The optical depth of each pixel without motions and widths of lines (the fluctuating Gunn-Peterson approximation).
void local_optical_depth(const Sightline& cells, const LineScales& scales, std::span<double> depth);

/// The optical depth of each pixel, centred on a cell, in redshift space with thermal broadening: the exact integral
/// over cells in which density, velocity and temperature are constant (Lukic et al. 2015, MNRAS 446, 3697).
/// Periodic, and the sum over pixels is that over cells. Doppler parameters count as 10^-3 pixels at least. Cells are
/// physical.
void thermal_optical_depth(const Sightline& cells, const LineScales& scales, SharedRoom& room, std::span<double> depth);

/// The same with the Voigt profile, to the first order in its parameter a: H(a, u) = exp(-u^2) - 2a/sqrt(pi) D'(u) with
/// Dawson's integral D (Mihalas 1978, Stellar Atmospheres), whose integral over a cell is exact. The error is
/// below a^2/2 of the depth of a cell. Wings reach half a box from their cell.
void voigt_optical_depth(const Sightline& cells, const LineScales& scales, SharedRoom& room, std::span<double> depth);

/// exp(-`factor` * depth) of depths that are not negative, to two units in the last place.
void transmitted_flux(std::span<const double> depth, double factor, std::span<double> flux);

#pragma GCC visibility pop

}  // namespace sidestream::analysis
