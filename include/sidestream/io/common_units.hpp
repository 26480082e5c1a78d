#pragma once

#include <string>

#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// A unit of ours, and what a number of a file is multiplied by to have it.
struct CommonUnit {
  std::string name;
  double factor = 1.0;
};

/// Whether `file` is that of a universe in FLASH's comoving cgs units: velocities are v/a there, energies e/a^2 and
/// temperatures T/a^2.
bool is_comoving_in_cm(const mesh::Snapshot& file);

/// The unit of ours that takes the place of `unit` of such a file; every unit of other files, and units of other kinds,
/// stay as they are.
CommonUnit common_unit(const mesh::Snapshot& file, const std::string& unit);

/// All of `file` but its quantities and particles, in our units.
mesh::Snapshot frame_in_common_units(const mesh::Snapshot& file);
/// Particles of `file`, whose positions alone are converted: they stay inside of the box.
mesh::Particles positions_in_common_units(const mesh::Snapshot& file, mesh::Particles particles);

/// The state in a file for analyses: comoving Mpc, Msun, km/s (proper, peculiar) and K, if it is that of a universe. So
/// are the conserved quantities of a checkpoint, which has them in supercomoving units. All are read when somebody asks
/// for them, as those of `file` are.
mesh::Snapshot in_common_units(mesh::Snapshot file);

}  // namespace sidestream::io
