#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/solvers/cosmology_parameters.hpp"
#include "sidestream/solvers/heating_moment.hpp"
#include "sidestream/solvers/uv_background.hpp"

namespace sidestream::solvers {

/// Heating and cooling of gas of hydrogen and helium; the keys of a table of the configuration.
struct HeatingConfig {
  std::string uv_background = "onorbe17_middle";  ///< as `make_uv_background` takes it
  std::string rates = "lukic2015";                ///< as `rate_fits` takes it
  bool self_shielding = false;     ///< dense gas sees less of the background (Rahmati et al. 2013, MNRAS 430, 2427)
  double ionization_factor = 1.0;  ///< multiplies the rates of photoionisation
  double heating_factor = 1.0;     ///< A of A Delta^B, which multiplies the heat of each photoionisation rate
  double heating_exponent = 0.0;   ///< B; Delta is the density over the mean of baryons
  std::optional<double> hydrogen_reionization = {};  ///< redshift above which nothing ionises H I and He I
  std::optional<double> helium_reionization = {};    ///< redshift above which nothing ionises He II
  double temperature_floor = 1.0;                    ///< [K]
};
core::Table<HeatingConfig> heating_table();

/// What the units of some numbers are.
struct GasUnits {
  double density;  ///< [g/cm^3]
  double energy;   ///< specific [erg/g]
  double time;     ///< [s]
};
/// Of cgs, and of the supercomoving quantities of the gas at the scale factor `a` (docs/concepts/cosmology.md).
inline constexpr GasUnits cgs_units{1.0, 1.0, 1.0};
GasUnits supercomoving_units(double a);

/// What happened to cells that were integrated.
struct HeatingCounts {
  std::int64_t cells = 0, steps = 0;  ///< steps are those of all cells together
  std::int64_t at_floor = 0;          ///< cells that the temperature floor held
  std::int64_t failed = 0;            ///< cells that were not integrated, and are as they were
  std::string first_failed;           ///< what the first of them holds

  HeatingCounts& operator+=(const HeatingCounts& other);
};

/// Heating by a background of ultraviolet light, cooling by two-body processes of hydrogen and helium in equilibrium of
/// ionisation, and Compton scattering of the microwave background (docs/reference/heating_cooling.md). A cell's result
/// depends on that cell alone, to the bit. No member communicates.
class HeatingCooling {
 public:
  /// Makes the tables of rates; throws core::Error for names that are unknown and for files that cannot be read.
  HeatingCooling(const HeatingConfig& config, const CosmologyParameters& cosmology);

  /// Rows of cells at one redshift, in the caller's units.
  class Epoch {
   public:
    /// Integrates d energy / d time = source + (heating - cooling) / density over `dt` at constant density, to 1e-3 of
    /// the temperature or better. `source` [energy / time], the rate of change by all else, may be empty for none.
    /// Throws core::Error for a cell whose density or energy is not above zero, not finite or beyond any gas, or whose
    /// source is not finite, before any cell has changed. 0.1 to 0.3 us a cell where gas changes little in `dt`.
    HeatingCounts advance(double dt, std::span<const double> density, std::span<const double> source,
                          std::span<double> energy) const;

    /// Equilibrium of cells of these specific energies, or of these temperatures [K]. Throws as `advance` does.
    void equilibrium(std::span<const double> density, std::span<const double> energy, const GasEquilibrium& out) const;
    void equilibrium_at_temperature(std::span<const double> density, std::span<const double> temperature,
                                    const GasEquilibrium& out) const;

    /// Whether there is gas of this density, of this temperature [K], of this specific energy: not so where they are
    /// not above zero, not finite or beyond any gas.
    bool is_density_of_gas(double density) const;
    bool is_temperature_of_gas(double temperature) const;
    bool is_energy_of_gas(double energy) const;

    const HeatingMoment& moment() const { return moment_; }

   private:
    friend class HeatingCooling;
    explicit Epoch(const HeatingMoment& moment) : moment_(moment) {}

    HeatingMoment moment_;
  };
  /// Valid as long as this object.
  Epoch at(double redshift, const GasUnits& units) const;

  /// The background with the factors of the configuration, at mean density.
  UvRates uv_rates(double redshift) const;
  /// The redshifts at which heating sets in at once: steps end there, for rates are those of their middle.
  std::vector<double> onsets() const { return background_.onsets(); }

 private:
  HeatingConfig config_;
  CosmologyParameters cosmology_;
  UvBackground background_;
  std::vector<double> rates_, shielding_;
};

}  // namespace sidestream::solvers
