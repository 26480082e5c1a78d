#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sidestream/solvers/spectral/incompressible_flow.hpp"
#include "sidestream/solvers/spectral/initial_flow.hpp"
#include "sims/config/mesh_config.hpp"

namespace sidestream::sims {

/// How a scalar begins.
struct ScalarStart {
  double amplitude = 0.0;  ///< of a cosine
  std::array<std::int32_t, 3> wave{};
  double schmidt = 1.0;  ///< viscosity over diffusivity
};

/// A species of particles that the flow carries.
struct TracerSpecies {
  std::string name;
  std::int64_t count = 0, seed = 1;
};

/// What a turbulent flow reads.
struct TurbulenceConfig {
  MeshConfig mesh;
  std::vector<double> length;
  double viscosity = 0.0, rotation = 0.0, end = 0.0, courant = 0.0;
  std::optional<double> dt;
  std::string scheme, dealiasing, precision;
  std::int64_t seed = 1;
  solvers::InitialFlowConfig initial;
  solvers::ForcingConfig forcing;
  std::vector<solvers::PassiveScalar> scalars;
  std::vector<ScalarStart> scalar_starts;
  std::vector<TracerSpecies> tracers;

  mesh::Geometry geometry() const;
  solvers::WaveGrid grid() const;
  solvers::FlowConfig flow() const;
  bool is_single() const { return precision == "single"; }
};

/// The options of each table that is read.
std::map<std::string, std::vector<core::Option>> turbulence_options();

/// Reads and checks them; stores them with defaults in `resolved`. Throws core::Error.
TurbulenceConfig read_turbulence(const core::Node& root, core::Node& resolved);

}  // namespace sidestream::sims
