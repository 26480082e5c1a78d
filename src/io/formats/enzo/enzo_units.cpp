#include "io/formats/enzo/enzo_units.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "sidestream/core/math.hpp"

namespace sidestream::io {

namespace {

constexpr double newton_cgs = 6.67384e-8;
constexpr double critical_density_cgs = 1.8784710838431654e-29;  // for h = 1, today [g/cm^3]
constexpr double cm_a_km = 1e5;

// 1/sqrt(4 pi G rho_crit) for h = 1: Enzo's scale of time [s].
double time_scale() {
  return 1.0 / std::sqrt(4.0 * std::numbers::pi * newton_cgs * critical_density_cgs);
}

constexpr double seconds_a_gyr = 3.15576e16;

// Powers of density, velocity, mass, length and time in a quantity.
struct Dimension {
  std::string_view word;
  int density, velocity, mass, length, time = 0;
};

constexpr std::array by_name{
    Dimension{"density", 1, 0, 0, 0},
    Dimension{"particle_mass_density", 1, 0, 0, 0},
    Dimension{"xmom", 1, 1, 0, 0},
    Dimension{"ymom", 1, 1, 0, 0},
    Dimension{"zmom", 1, 1, 0, 0},
    Dimension{"rho_E", 1, 2, 0, 0},
    Dimension{"rho_e", 1, 2, 0, 0},
    Dimension{"pressure", 1, 2, 0, 0},
    Dimension{"x_velocity", 0, 1, 0, 0},
    Dimension{"y_velocity", 0, 1, 0, 0},
    Dimension{"z_velocity", 0, 1, 0, 0},
    Dimension{"specific_total_energy", 0, 2, 0, 0},
    Dimension{"specific_internal_energy", 0, 2, 0, 0},
    Dimension{"phi_grav", 0, 2, 0, 0},
    Dimension{"Temp", 0, 0, 0, 0},
    Dimension{"xvel", 0, 1, 0, 0},
    Dimension{"yvel", 0, 1, 0, 0},
    Dimension{"zvel", 0, 1, 0, 0},
    Dimension{"mass", 0, 0, 1, 0},
    Dimension{"creation_time", 0, 0, 0, 0, 1},
    Dimension{"dynamical_time", 0, 0, 0, 0, 1},
};

constexpr std::array by_unit{
    Dimension{"Msun/Mpc^3", 1, 0, 0, 0}, Dimension{"km/s", 0, 1, 0, 0}, Dimension{"(km/s)^2", 0, 2, 0, 0},
    Dimension{"km^2/s^2", 0, 2, 0, 0},   Dimension{"Msun", 0, 0, 1, 0}, Dimension{"Mpc", 0, 0, 0, 1},
    Dimension{"Gyr", 0, 0, 0, 0, 1},
};

}  // namespace

double EnzoUnits::factor_of(std::string_view name, std::string_view unit) const {
  const Dimension* found = nullptr;
  for (const Dimension& dimension : by_unit)
    if (dimension.word == unit) found = &dimension;
  for (const Dimension& dimension : by_name)
    if (dimension.word == name) found = &dimension;
  if (found == nullptr || !is_comoving) return 1.0;
  return core::pow(density, found->density) * core::pow(velocity, found->velocity) * core::pow(mass(), found->mass) *
         core::pow(length, found->length) * core::pow(time, found->time);
}

double EnzoCosmology::time_unit() const {
  return time_scale() / std::sqrt(omega_m) / hubble / core::pow(1.0 + initial_redshift, 1.5);
}

// With y = a^(3/2) the integrand is smooth: t = 2/(3 H0) int dy / sqrt(Om + Ok y^(2/3) + OL y^2); Simpson's rule.
double EnzoCosmology::age() const {
  constexpr int intervals = 1000;
  const double end = core::pow(1.0 + redshift, -1.5), curvature = 1.0 - omega_m - omega_lambda;
  const double hubble_time = cm_a_mpc / (100.0 * cm_a_km * hubble);
  double sum = 0.0;
  for (int i = 0; i <= intervals; ++i) {
    const double y = end * i / intervals;
    const int weight = i == 0 || i == intervals ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight / std::sqrt(omega_m + curvature * core::cbrt(y * y) + omega_lambda * y * y);
  }
  return 2.0 / 3.0 * hubble_time * sum * end / (3.0 * intervals);
}

EnzoUnits EnzoCosmology::units() const {
  const double velocity_unit =
      cm_a_mpc / time_scale() * box_size * std::sqrt(omega_m) * std::sqrt(1.0 + initial_redshift);
  EnzoUnits units;
  units.is_comoving = true;
  units.length = hubble / box_size;
  units.density = grams_a_sun / core::pow(cm_a_mpc, 3) / (critical_density_cgs * omega_m * hubble * hubble);
  units.velocity = cm_a_km / velocity_unit;
  units.time = seconds_a_gyr / time_unit();
  return units;
}

bool is_enzo_cosmology(const FileContent& content) {
  return content.kind == FileKind::plot_file && content.state.length_unit == "Mpc" &&
         content.attribute("omega_m") > 0.0 && content.attribute("hubble") > 0.0 &&
         content.state.moment.scale_factor.value_or(1.0) > 0.0;
}

EnzoCosmology enzo_cosmology(const FileContent& content) {
  constexpr double usual_initial_redshift = 99.0;
  EnzoCosmology cosmology;
  cosmology.omega_m = content.attribute("omega_m");
  cosmology.omega_lambda = content.attribute("omega_lambda");
  cosmology.hubble = content.attribute("hubble");
  cosmology.box_size = *std::ranges::max_element(content.state.geometry.length) * content.attribute("hubble");
  cosmology.redshift = 1.0 / content.state.moment.scale_factor.value_or(1.0) - 1.0;
  cosmology.initial_redshift = std::max(usual_initial_redshift, cosmology.redshift);
  return cosmology;
}

}  // namespace sidestream::io
