#pragma once

#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/lbm/lattice_flow.hpp"

namespace sidestream::sims {

/// The quantity that says which cells are solid.
inline constexpr const char* barrier_quantity = "barrier";
/// That of the populations of a direction.
std::string population_name(int direction);

/// The quantities of a flow on this lattice.
std::vector<mesh::Quantity> lbm_quantities(solvers::LatticeKind lattice);

/// What of a flow a step should leave that quantities of these names follow from, in whatever way.
solvers::LatticeComponents components_for(solvers::LatticeKind lattice, const std::vector<std::string>& names);

/// Adds them to `snapshot`, whose one level are the tiles of the boxes of `flow`: populations as they lie in memory,
/// all else when somebody asks for it. The flow does not change while they are asked for.
template <typename Real>
void add_lbm(const solvers::LatticeFlow<Real>& flow, mesh::Snapshot& snapshot);

}  // namespace sidestream::sims
