#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/mesh/geometry.hpp"
#include "sidestream/solvers/lbm/lattice_flow.hpp"
#include "sims/config/mesh_config.hpp"
#include "sims/lbm/barriers.hpp"

namespace sidestream::sims {

/// The Mach number up to which errors of compressibility, its square, are small.
inline constexpr double most_mach = 0.3;

/// The faces of a domain, as the tables `[edge.NAME]` call them.
struct Face {
  const char* name;
  std::size_t axis;
  bool high;
};
inline constexpr std::array faces{Face{"left", 0, false}, Face{"right", 0, true}, Face{"bottom", 1, false},
                                  Face{"top", 1, true},   Face{"back", 2, false}, Face{"front", 2, true}};

/// What a lattice Boltzmann flow reads. All is in lattice units: cells, steps, and a density of 1.
struct LbmConfig {
  MeshConfig mesh;
  double viscosity = 0.0, magic = 0.0, period = 0.0, end = 0.0;
  std::vector<double> force, oscillation;
  std::string collision, precision, decomposition, barrier;
  std::optional<double> speed;
  std::string flow;                ///< that it begins with
  std::vector<double> velocity;    ///< of that, everywhere
  double vortices = 0.0;           ///< the speed of those of Taylor and Green
  solvers::LatticeConfig lattice;  ///< with edges
  std::vector<Barrier> barriers;

  mesh::Geometry geometry() const;
  bool is_single() const { return precision == "single"; }
  bool is_plane() const { return mesh.cells[2] == 1; }
  /// The speed of which coefficients of forces are made.
  double reference_speed() const;
  /// At a time.
  solvers::LatticeConfig lattice_at(double time) const;
};

/// The options of each table that is read.
std::map<std::string, std::vector<core::Option>> lbm_options();

/// Reads and checks them; stores them with defaults in `resolved`. Throws core::Error.
LbmConfig read_lbm(const core::Node& root, core::Node& resolved);

/// What is wrong with a viscosity, in a sentence; empty where nothing is.
std::string problem_of_viscosity(double viscosity, const std::string& collision);

/// The vector `key` that was given at `place`, and that of a velocity of an edge. Throw core::Error where there cannot
/// be such a one.
std::array<double, 3> vector_of(const core::Node& place, const std::string& key, const std::vector<double>& numbers,
                                bool is_plane);
std::array<double, 3> edge_velocity_of(const core::Node& place, const Face& face, solvers::EdgeKind kind,
                                       const std::vector<double>& numbers, bool is_plane);

}  // namespace sidestream::sims
