#pragma once

/// The code's units: comoving Mpc, solar mass, km/s, Kelvin; time in Mpc/(km/s). Comoving densities are in Msun/Mpc^3
/// and specific energies in (km/s)^2, as in Nyx (Almgren et al. 2013, ApJ 765, 39).
namespace sidestream::core::units {

inline constexpr double gravitational_constant = 4.300917e-9;  ///< G [Mpc (km/s)^2 / Msun]
inline constexpr double speed_of_light = 299792.458;           ///< [km/s]
inline constexpr double hubble_100 = 100.0;                    ///< H0 / h [km/s/Mpc]
inline constexpr double gyr_per_time_unit = 977.792;           ///< 1 Mpc/(km/s) [Gyr]
inline constexpr double proton_mass_over_boltzmann = 121.147;  ///< m_p / k_B [K (km/s)^-2]
inline constexpr double gram_per_cm3 = 6.7679e-41;             ///< 1 Msun/Mpc^3 [g/cm^3]
inline constexpr double erg_per_gram = 1e10;                   ///< 1 (km/s)^2 [erg/g]
inline constexpr double seconds_per_time_unit = 3.0856776e19;  ///< 1 Mpc/(km/s) [s]
inline constexpr double cmb_temperature = 2.7255;              ///< [K] (Fixsen 2009)

}  // namespace sidestream::core::units
