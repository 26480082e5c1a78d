#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/solvers/incompressible_flow.hpp"

namespace sidestream::solvers {

/// The table `[initial]` of a turbulent flow.
struct InitialFlowConfig {
  std::string flow = "taylor-green";
  double speed = 1.0;              ///< of the largest velocity of an analytic flow; in root mean square of a random one
  std::array<std::int32_t, 3> wave{1, 1, 1};  ///< whole waves over the box
  double peak = 4.0;               ///< of a random flow's spectrum, in waves over the longest side
  std::string table;               ///< of a spectrum
  std::vector<double> mean;        ///< velocity, along x, y and z
};
core::Table<InitialFlowConfig> initial_flow_table();

struct InitialFlowEntry {
  std::string name, documentation;
  /// Sets the velocity of `flow`, without divergence. Collective.
  void (*set)(const InitialFlowConfig& config, std::uint64_t seed, const comm::Communicator& comm,
              IncompressibleFlow& flow);
};
/// All there are.
const core::Registry<InitialFlowEntry>& initial_flows();

/// The energy of each shell of whole wavenumbers 0, 1, 2, ... of a random flow. Throws core::Error for a table that is
/// none.
std::vector<double> shell_energies(const InitialFlowConfig& config, const WaveGrid& grid);

}  // namespace sidestream::solvers
