#pragma once

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/heating_cooling.hpp"

namespace sidestream::sims {

/// What `[heating]` holds where nothing is advanced.
core::Table<solvers::HeatingConfig> ionization_table();

/// Says what it is among the attributes and words of a moment, and so of results.
void tell_heating(const solvers::HeatingConfig& config, mesh::Moment& moment);

/// The names of what follows from equilibrium of ionisation: temperature, electron_fraction, neutral_hydrogen,
/// singly_ionized_helium.
const std::vector<std::string>& ionization_names();

/// Adds to the state in a file, in our units, those of `ionization_names` that it does not have and that are not among
/// `but`: of gas of hydrogen and helium in equilibrium of ionisation with a background (docs/reference/
/// heating_cooling.md), by its density and its `temperature` or, where it has none, its `specific_internal_energy`.
/// NaN in cells that hold no gas: analyses name them. With self-shielding, the mean density of the gas is taken, for
/// which it is read. The moment tells what was taken. Collective. Throws core::Error when the file lacks what it takes.
void add_ionization(const comm::Communicator& comm, const solvers::HeatingConfig& config,
                    const std::vector<std::string>& but, mesh::Snapshot& file);

}  // namespace sidestream::sims
