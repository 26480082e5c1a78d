#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/region_edit.hpp"
#include "sidestream/solvers/refined_gas.hpp"
#include "sims/gas/gas_quantities.hpp"

namespace sidestream::sims {

/// What of a gas may be edited: its density, with velocity and specific energies as they are, and its pressure, with
/// density and velocity as they are; in the units of the quantities of these names.
std::vector<couple::EditableQuantity> editable_gas(const GasUnits& units);

/// Edits the leaves inside of the region, and has the averages follow. `units` turn the state into quantities. Returns
/// how many cells that were, on all ranks. Collective. Throws core::Error on all ranks, and changes nothing, where a
/// cell would come to nothing or less.
std::int64_t edit_gas(const comm::Communicator& comm, const couple::RegionEdit& edit, const GasUnits& units,
                      solvers::RefinedGas& gas);

}  // namespace sidestream::sims
