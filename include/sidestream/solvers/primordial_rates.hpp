#pragma once

#include <array>
#include <string>

namespace sidestream::solvers {

/// Fits to the rates of hydrogen and helium.
///
/// `lukic2015`: those of Lukic et al. 2015 (MNRAS 446, 3697), as in Nyx. Above 2e6 K, where the
/// fits to the cooling by recombination of H II and He III turn up (to ten times too much at 1e8 K), that cooling goes
/// on from its value at 2e6 K as the fit of Katz et al. falls; `lukic2015_as_published` has the fits at all
/// temperatures. `katz1996`: Katz, Weinberg & Hernquist 1996 (ApJS 105, 19).
enum class RateFits { lukic2015, lukic2015_as_published, katz1996 };

/// By name: "lukic2015", "lukic2015-as-published" or "katz1996"; throws core::Error for any other.
RateFits rate_fits(const std::string& name);
const std::array<std::string, 3>& rate_fits_names();

/// Rates of two-body processes at one temperature: recombination and ionisation by electrons [cm^3/s], cooling
/// [erg cm^3/s], each for one electron and one atom or ion.
struct PrimordialRates {
  double recombination_hii, recombination_heii, recombination_heiii;  ///< radiative
  double dielectronic_heii;
  double ionization_hi, ionization_hei, ionization_heii;
  double cooling_hi, cooling_hei, cooling_heii;  ///< excitation and ionisation
  double recombination_cooling_hii, recombination_cooling_heii, recombination_cooling_heiii;
  double free_free_1, free_free_2;  ///< on ions of charge one and two
};

/// Temperatures [K] whose Boltzmann factors exp(-T0 / T) are left out of what needs electrons of that energy. What
/// remains of each rate is smooth in ln T.
struct LeftOut {
  double ionization_hi = 0.0, ionization_hei = 0.0, ionization_heii = 0.0;
  double cooling_hi = 0.0, cooling_hei = 0.0, cooling_heii = 0.0;
};

/// The rates at `temperature` [K], above zero.
PrimordialRates primordial_rates(double temperature, RateFits fits, const LeftOut& left_out = {});

}  // namespace sidestream::solvers
