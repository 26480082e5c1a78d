#include "analysis/lyman_alpha/spectral_line.hpp"

#include <cmath>
#include <numbers>

#include "sidestream/core/error.hpp"
#include "sidestream/core/units.hpp"

namespace sidestream::analysis {

namespace {

constexpr double classical_electron_radius_cm = 2.8179403262e-13;
constexpr double boltzmann_erg_per_kelvin = 1.380649e-16;
constexpr double cm_per_km = 1e5, cm_per_angstrom = 1e-8, km_per_mpc = 3.0856775814913673e19;
constexpr double light_cm_per_s = core::units::speed_of_light * cm_per_km;

}  // namespace

const SpectralLine& lyman_alpha(const std::string& ion) {
  static const SpectralLine hydrogen{"H I", "neutral_hydrogen", 1215.6701, 0.4164, 6.265e8, 1.6735575e-24};
  static const SpectralLine helium{"He II", "singly_ionized_helium", 303.7822, 0.4164, 1.0029e10, 6.6464731e-24};
  core::require(ion == hydrogen.ion || ion == helium.ion, "Lyman alpha is that of H I or He II");
  return ion == hydrogen.ion ? hydrogen : helium;
}

double line_strength(const SpectralLine& line) {
  return std::numbers::pi * classical_electron_radius_cm * light_cm_per_s * line.oscillator_strength * line.wavelength *
         cm_per_angstrom;
}

double doppler_parameter(const SpectralLine& line, double temperature) {
  return std::sqrt(2.0 * boltzmann_erg_per_kelvin * temperature / line.atom_mass) / cm_per_km;
}

double voigt_parameter(const SpectralLine& line, double doppler) {
  return line.damping * line.wavelength * cm_per_angstrom / (4.0 * std::numbers::pi * doppler * cm_per_km);
}

HubbleFlow::HubbleFlow(const mesh::Moment& moment) {
  const auto& known = moment.attributes;
  if (!moment.redshift() || !known.contains("omega_m") || !known.contains("hubble"))
    throw core::Error("the snapshot tells no redshift and cosmology, so its lines have no width in velocity", "",
                      "optical depths are for cosmological simulations");
  redshift = *moment.redshift();
  const double stretch = 1.0 + redshift, omega_m = known.at("omega_m");
  const double omega_lambda = known.contains("omega_lambda") ? known.at("omega_lambda") : 1.0 - omega_m;
  const double curvature = 1.0 - omega_m - omega_lambda;
  const double squared = ((omega_m * stretch + curvature) * stretch) * stretch + omega_lambda;
  hubble = core::units::hubble_100 * known.at("hubble") * std::sqrt(squared);
}

double gunn_peterson_depth(const SpectralLine& line, const HubbleFlow& flow) {
  return line_strength(line) / (flow.hubble / km_per_mpc);
}

LineScales scales_of(const SpectralLine& line, const HubbleFlow& flow, double cell_size) {
  const double pixel = flow.velocity_of(cell_size), at_one_kelvin = doppler_parameter(line, 1.0);
  return {gunn_peterson_depth(line, flow), 1.0 / pixel, at_one_kelvin / pixel,
          voigt_parameter(line, at_one_kelvin) * at_one_kelvin / pixel};
}

}  // namespace sidestream::analysis
