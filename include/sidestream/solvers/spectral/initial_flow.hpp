#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/core/registry.hpp"
#include "sidestream/solvers/spectral/incompressible_flow.hpp"

namespace sidestream::solvers {

/// The table `[initial]` of a turbulent flow.
struct InitialFlowConfig {
  std::string flow = "taylor-green";
  double speed = 1.0;  ///< factor of a flow that is a formula; root mean square of a component of a random one
  std::array<std::int32_t, 3> wave{1, 1, 1};  ///< whole waves over the box
  double peak = 4.0;                          ///< of a random flow's spectrum, in waves over the longest side
  std::string table;                          ///< of a spectrum
  std::vector<double> mean;                   ///< velocity, along x, y and z
};
core::Table<InitialFlowConfig> initial_flow_table();

/// What a flow takes of the whole waves of `InitialFlowConfig::wave`, along axes of more than one cell.
enum class WaveUse {
  none,
  product,    ///< all of them at once, none of which may be zero
  separate,   ///< each by itself, none of which may be zero
  direction,  ///< all of them at once, as one wave along their direction
};

struct InitialFlowEntry {
  std::string name, documentation;
  WaveUse wave_use = WaveUse::none;
  int wave_axes = 3;                 ///< it is a formula of x, y and z, or of x and y
  std::vector<std::string> options;  ///< of the keys of `[initial]`, those that it looks at beside `mean`
  /// Sets the velocity of a flow, without divergence. Collective.
  template <typename Real>
  using Set = void (*)(const InitialFlowConfig& config, std::uint64_t seed, const comm::Communicator& comm,
                       IncompressibleFlow<Real>& flow);
  std::tuple<Set<float>, Set<double>> set;
};
/// All there are.
const core::Registry<InitialFlowEntry>& initial_flows();

/// Why the flow of `config` cannot begin with its waves, in a sentence: some are zero, or beyond those that `grid`
/// keeps; empty where it can.
std::string problem_of_wave(const InitialFlowConfig& config, const WaveGrid& grid);
/// Whether a flow has no velocity beside its mean.
bool is_at_rest(const InitialFlowConfig& config);

/// The energy of each shell of whole wavenumbers 0, 1, 2, ... of a random flow. Throws core::Error for a table that is
/// none.
std::vector<double> shell_energies(const InitialFlowConfig& config, const WaveGrid& grid);

}  // namespace sidestream::solvers
