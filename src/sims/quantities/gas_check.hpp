#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/heating_cooling.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

/// Looks at each cell of the gas in a file, its density and its `temperature` or, where that is among the `sources` to
/// follow from it, its `specific_internal_energy`, block by block. Throws core::Error that names the field, the cell
/// and what it holds where there is no gas of `gas` (in the units of the file) like that; where total energies leave
/// none for the heat, both energies too. Says in a sentence how many cells are colder than rates are known; empty where
/// none is. Collective.
std::string check_gas(const comm::Communicator& comm, const mesh::Snapshot& file, const Sources& sources,
                      const solvers::HeatingCooling::Epoch& gas);

}  // namespace sidestream::sims
