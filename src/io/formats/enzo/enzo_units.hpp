#pragma once

#include <string_view>

#include "io/content/file_content.hpp"

namespace sidestream::io {

/// How our numbers (core/units.hpp) become those of an Enzo file: times these factors. All are 1 where a file keeps
/// ours. The units are those of Enzo's cosmology (Bryan et al. 2014, ApJS 211, 19, section 4.1).
struct EnzoUnits {
  bool is_comoving = false;
  double length = 1.0;    ///< of comoving Mpc
  double density = 1.0;   ///< of Msun per comoving Mpc^3
  double velocity = 1.0;  ///< of proper peculiar km/s
  double time = 1.0;      ///< of Gyr

  double mass() const { return density * length * length * length; }
  /// For a field or a number of particles, by its name (`vocabulary.hpp`) or else its unit; 1 for what is unknown.
  double factor_of(std::string_view name, std::string_view unit) const;
};

/// Parameters of a comoving Enzo run.
struct EnzoCosmology {
  double omega_m = 0.0, omega_lambda = 0.0, hubble = 0.0;
  double box_size = 1.0;  ///< [comoving Mpc/h] a unit of length
  double initial_redshift = 0.0, redshift = 0.0;

  /// One unit of time [s].
  double time_unit() const;
  /// Age of the universe at `redshift` [s], without radiation.
  double age() const;
  EnzoUnits units() const;
};

/// The parameters with which `content` is a comoving run in a box of length 1.
EnzoCosmology enzo_cosmology(const FileContent& content);

/// Whether `content` is a plot file of a universe, which gets Enzo's own units; all else keeps ours.
bool is_enzo_cosmology(const FileContent& content);

/// Our units in cgs, for files that keep them: comoving Mpc, Msun/Mpc^3.
inline constexpr double cm_a_mpc = 3.0856775809623245e24;
inline constexpr double grams_a_sun = 1.98841586e33;

}  // namespace sidestream::io
