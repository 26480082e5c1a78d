#pragma once

#include <array>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::solvers {

/// How the Poisson equation is made discrete.
struct GravityConfig {
  std::string green = "seven-point";  ///< "seven-point": the 7-point Laplacian is inverted exactly; "spectral": -1/k^2
};

/// The options of `[gravity]`.
const core::Table<GravityConfig>& gravity_table();

/// Gravity of a density on a periodic box, by Fourier transform: lap phi = density - mean, g = -grad phi by central
/// differences over two cells, which is antisymmetric, so that deposit and gather with equal weights conserve momentum.
/// Lengths are those of the geometry; whoever calls multiplies by 4 pi G a. Built once (collective), solved often (no
/// allocation). Memory, with blocks of 32^3: 11 bytes a cell for the potential, 8 for the modes, in a room that may be
/// shared, and on several ranks 8 more and the messages of the transform (8 to 24). The bits depend on the density
/// alone, not on ranks or blocks.
class Gravity {
 public:
  /// `blocks` covers the domain of `geometry` once; all axes are periodic (throws core::Error otherwise). What is used
  /// during a solve alone is kept in `room`, which others may use in between: none do if it is null.
  Gravity(const comm::Communicator& comm, const mesh::Layout& blocks, const mesh::Geometry& geometry,
          const GravityConfig& config = {}, std::shared_ptr<core::Workroom> room = nullptr);

  /// Solves for `acceleration`: three components with one ghost cell or more, of which one layer is filled. `density`
  /// has one component; its ghost cells are not used. Collective.
  void solve(const mesh::Field<double>& density, mesh::Field<double>& acceleration);

  /// phi alone, without its differences. Collective.
  const mesh::Field<double>& solve_potential(const mesh::Field<double>& density);

  /// phi of the last `solve` (zero before): one component, `potential().ghost()` ghost cells, filled.
  const mesh::Field<double>& potential() const { return potential_; }

 private:
  using Spectrum = mesh::Field<std::complex<double>>;
  void multiply_by_green(Spectrum& spectrum) const;

  int rank_;
  std::array<double, 3> over_two_dx_;
  std::array<std::vector<double>, 3> k_squared_;  // of each index along x, y, z
  fft::FftPlan<double> transform_;
  std::shared_ptr<core::Workroom> room_;
  mesh::Field<double> potential_;
};

}  // namespace sidestream::solvers
