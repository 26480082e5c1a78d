#pragma once

#include <string>
#include <vector>

#include "io/content/file_content.hpp"

namespace sidestream::io {

inline constexpr double cm_per_mpc = 3.085677580962325e24;
inline constexpr double grams_per_msun = 1.98841586e33;
inline constexpr double hubble_100_per_second = 1e7 / cm_per_mpc;  ///< H0 / h [1/s]

/// A state as a FLASH file holds it.
struct FlashContent {
  FileContent content;           ///< in the file's units
  mesh::Geometry geometry;       ///< in that of the particles' positions
  double position_factor = 1.0;  ///< to the file's length
  /// To the file's unit, one for each number of the particles. Not part of their factors: a mass in g is beyond single
  /// precision, in which the number itself may be asked for.
  std::vector<double> real_factors;
  std::string metadata;  ///< of what is in the file
};

/// Checkpoints and states without unit stay as they are. Plot files in comoving Mpc are converted to what FLASH has
/// with cosmology: comoving cm, g, s, with velocities v/a, specific energies e/a^2 and temperatures T/a^2, which its
/// readers turn back (so does yt).
FlashContent in_flash_units(const FileContent& content);

}  // namespace sidestream::io
