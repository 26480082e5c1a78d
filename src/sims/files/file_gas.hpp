#pragma once

#include <string>
#include <vector>

#include "sidestream/mesh/snapshot.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {

/// Adds to the state in a file what runs have of gas and what follows, cell by cell, from what there is: momenta and
/// energies of a volume from the density and those of a mass, `specific_total_energy` the other way round, and
/// `pressure`; nothing whose name is among `but`. Says in `sources` from which.
void add_gas_quantities(const std::vector<std::string>& but, mesh::Snapshot& file, Sources& sources);

}  // namespace sidestream::sims
