#pragma once

#include <string>
#include <vector>

#include "sidestream/io/file_mesh.hpp"
#include "sidestream/io/owned_content.hpp"
#include "sidestream/io/snapshot_file.hpp"
#include "sims/run/mesh_config.hpp"

namespace sidestream::sims {

/// Throws core::Error unless a run with these cells and levels can go on from `file`.
void check_mesh(const io::FileDescription& file, const MeshConfig& mesh, int highest_level);

/// Factors to the state that a simulation keeps: state = file value times factor.
struct GasFactors {
  double velocity = 1.0, specific_energy = 1.0;
  double temperature = 0.0;  ///< specific internal energy of a Kelvin; 0: temperatures are of no use
  double gamma = 5.0 / 3.0;
};

/// The conserved gas of all levels from whatever a file has: momenta or velocities; energies a volume or a mass, or
/// pressure, or temperature. Local. Throws core::Error naming what is missing.
void read_gas(const io::SnapshotFile& file, const io::FileMesh& mesh, const GasFactors& factors,
              std::vector<mesh::Field<double>>& levels);

/// Whether a plot file of `variables` (all when empty) holds `name`.
bool is_wanted(const std::vector<std::string>& variables, const std::string& name);

/// The names that both lists have, in the order of `wanted`; all `known` ones when nothing is wanted or known.
std::vector<std::string> known_of(const std::vector<std::string>& wanted, const std::vector<std::string>& known);

/// Components of the conserved gas under the names of files.
inline const std::vector<std::string>& gas_variables() {
  static const std::vector<std::string> names{"density", "xmom", "ymom", "zmom", "rho_E", "rho_e"};
  return names;
}

}  // namespace sidestream::sims
