#pragma once

#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sims/config/mesh_config.hpp"

namespace sidestream::sims {

/// Throws core::Error unless a run with these cells and levels can go on from `file`.
void check_mesh(const mesh::Snapshot& file, const MeshConfig& mesh, int highest_level);

/// Factors to the state that a simulation keeps: state = value in the file times factor.
struct GasFactors {
  double velocity = 1.0, specific_energy = 1.0;
  double temperature = 0.0;  ///< specific internal energy of a Kelvin; 0: temperatures are of no use
  double gamma = 5.0 / 3.0;
};

/// The conserved gas on the blocks of all levels from whatever a file has: momenta or velocities; energies a volume or
/// a mass, or pressure, or temperature. Collective. Throws core::Error naming what is missing.
void read_gas(const comm::Communicator& comm, const mesh::Snapshot& file, const GasFactors& factors,
              std::vector<mesh::Field<double>>& levels);
/// The one quantity `name` on the blocks of all levels. Collective.
void read_levels(const mesh::Snapshot& file, const std::string& name, std::vector<mesh::Field<double>>& levels,
                 int component = 0);

}  // namespace sidestream::sims
