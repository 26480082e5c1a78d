#pragma once

#include <vector>

#include "sidestream/io/file_mesh.hpp"
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

}  // namespace sidestream::sims
