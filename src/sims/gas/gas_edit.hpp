#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/solvers/refined_gas.hpp"

namespace sidestream::sims {

/// What of a gas may be edited: its density, with velocity and specific energies as they are, and its pressure, with
/// density and velocity as they are.
std::vector<couple::EditableQuantity> editable_gas();

/// Edits the leaves inside of the region, and has the averages follow. Returns how many cells that were, on all ranks.
/// Collective. Throws core::Error on all ranks, and changes nothing, where a cell would come to nothing or less, and
/// where an array is given for a mesh that is refined.
std::int64_t edit_gas(const comm::Communicator& comm, const couple::RegionEdit& edit, double gamma,
                      solvers::RefinedGas& gas);

}  // namespace sidestream::sims
