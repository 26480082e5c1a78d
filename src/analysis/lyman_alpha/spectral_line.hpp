#pragma once

#include <string>

#include "analysis/lyman_alpha/sightline_rows.hpp"
#include "sidestream/mesh/moment.hpp"

namespace sidestream::analysis {

/// A resonance line from the ground state, and the quantity of a snapshot whose atoms absorb in it.
struct SpectralLine {
  std::string ion, quantity;
  double wavelength = 0.0;           ///< [Angstrom]
  double oscillator_strength = 0.0;  ///< from the lower to the upper state
  double damping = 0.0;              ///< inverse lifetime of the upper state [1/s]
  double atom_mass = 0.0;            ///< [g]
};

/// Lyman alpha of "H I" (Morton 2003, ApJS 149, 205) or "He II" (both components as one line).
const SpectralLine& lyman_alpha(const std::string& ion);

/// The cross-section of an atom, integrated over frequency, times the wavelength [cm^3/s]: pi r_e c f lambda.
double line_strength(const SpectralLine& line);

/// Thermal Doppler parameter sqrt(2 k T / m) [km/s] at a temperature [K].
double doppler_parameter(const SpectralLine& line, double temperature);

/// Natural over Doppler width, of a Doppler parameter [km/s].
double voigt_parameter(const SpectralLine& line, double doppler);

/// How fast space recedes: at redshift z, two points a comoving Mpc apart by H / (1 + z).
struct HubbleFlow {
  double redshift = 0.0, hubble = 0.0;  ///< [km/s/Mpc], at that redshift

  /// From `omega_m`, `omega_lambda` (without it, space is flat), `hubble` and the redshift of the moment: H^2 = H0^2
  /// (Omega_m (1+z)^3 + Omega_k (1+z)^2 + Omega_Lambda). Throws core::Error where one is missing.
  explicit HubbleFlow(const mesh::Moment& moment);
  HubbleFlow(double z, double h) : redshift(z), hubble(h) {}

  double velocity_of(double comoving_mpc) const { return hubble * comoving_mpc / (1.0 + redshift); }  ///< [km/s]
};

/// The optical depth of an absorber density of 1/cm^3 (proper) at rest and without end (Gunn & Peterson 1965) [cm^3].
double gunn_peterson_depth(const SpectralLine& line, const HubbleFlow& flow);

/// For lines of cells of so many Mpc (comoving).
LineScales scales_of(const SpectralLine& line, const HubbleFlow& flow, double cell_size);

}  // namespace sidestream::analysis
