#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// The names in a unit, as ours are spelled, and their powers, none of which is 0.
using UnitPowers = std::vector<std::pair<std::string, int>>;
/// Of a unit as people write them: `g cm^-3`, `g/cm**3` and `gram/cm3` have g and cm^-3. None where a part is not
/// known, or quotients go on: `g/cm^3 cm/s`, `K/(g/cm^3)`.
std::optional<UnitPowers> unit_powers(const std::string& unit);
/// A unit in the spelling of ours, `Msun/kpc^3`; as it is where it has no such powers.
std::string canonical_unit(const std::string& unit);

/// A unit, and what a number in another is multiplied by to have it.
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

/// The unit of such a file in which numbers in `unit`, those of a universe with lengths in comoving Mpc and proper
/// velocities, are written at the scale factor `a`, and the factor. Units of other kinds stay as they are.
CommonUnit comoving_cgs(const std::string& unit, double a);

/// All of `file` but its quantities and particles, in our units.
mesh::Snapshot frame_in_common_units(const mesh::Snapshot& file);
/// Particles of `file`, whose positions alone are converted: they stay inside of the box.
mesh::Particles positions_in_common_units(const mesh::Snapshot& file, mesh::Particles particles);

/// The state in a file for analyses: comoving Mpc, Msun, km/s (proper, peculiar) and K, if it is that of a universe. So
/// are the conserved quantities of a checkpoint, which has them in supercomoving units. All are read when somebody asks
/// for them, as those of `file` are.
mesh::Snapshot in_common_units(mesh::Snapshot file);

}  // namespace sidestream::io
