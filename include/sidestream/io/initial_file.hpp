#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sidestream/core/registry.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// What a file of initial conditions says before its particles are read. What it does not say has no value.
struct InitialDescription {
  std::string path, format;
  std::int64_t particles = 0;  ///< of dark matter; of all matter where there is no gas
  std::int64_t gas_parcels = 0;
  mesh::Int3 gas_lattice{};  ///< cells along each axis where the gas is given on a grid, else zeros
  std::optional<double> redshift, omega_m, omega_b, omega_lambda, hubble;
  std::array<std::optional<double>, 3> box_mpc;  ///< comoving sides [Mpc]
  /// Masses are parts of the mass of all matter or, where there is gas, of all dark matter and of all gas; else Msun.
  bool masses_are_parts = false;
  /// Without it, particles are on their lattice, and only their velocities tell where they are.
  bool is_displaced = true;
};

/// What the configuration says, for files that leave it open.
struct InitialAssumptions {
  double hubble = 1.0;  ///< h, where a file gives lengths in Mpc/h alone
  double redshift = 0.0;
  double box_mpc = 0.0;  ///< a file without units of length is in kpc/h, or in Mpc/h if that makes this box
};

/// Attributes of what is read: proper peculiar velocities [km/s], masses [Msun] and, of gas, specific internal energies
/// [(km/s)^2].
inline const std::array<std::string, 3> initial_velocity_names{"velocity_x", "velocity_y", "velocity_z"};
inline const std::string initial_mass_name = "mass", initial_energy_name = "internal_energy";

/// The beginning of a universe as another program made it: particles of dark matter and, in some formats, gas. All
/// members are local. Opening reads headers alone; a file that cannot hold what its header says is refused then.
class InitialFile {
 public:
  virtual ~InitialFile() = default;

  const InitialDescription& description() const { return description_; }

  /// The share of one rank of `ranks` of the particles: comoving positions [Mpc] as the file has them, perhaps outside
  /// of the box, and the attributes above. Reads nothing else of the file. Throws core::Error for numbers that are not
  /// finite.
  virtual mesh::Particles particles(int rank, int ranks) const = 0;
  /// The same for the parcels of gas: particles, or the cells of a grid, each at its centre. Where the file says
  /// nothing of internal energies, they are zero.
  virtual mesh::Particles gas(int rank, int ranks) const = 0;

 protected:
  explicit InitialFile(InitialDescription description) : description_(std::move(description)) {}

 private:
  InitialDescription description_;
};

/// A format of initial conditions.
struct InitialFormat {
  std::string name, documentation;
  bool (*recognizes)(const std::string& path);
  std::unique_ptr<InitialFile> (*open)(const std::string& path, const InitialAssumptions& assumptions);
};

/// All there are, in the order in which a file is shown to them.
const core::Registry<InitialFormat>& initial_formats();

/// Opens a file, or a folder, of the format that recognises it. Throws core::Error naming the formats otherwise.
std::unique_ptr<InitialFile> open_initial_file(const std::string& path, const InitialAssumptions& assumptions);

}  // namespace sidestream::io
