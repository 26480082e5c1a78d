#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/solvers/heating_cooling.hpp"

namespace sidestream::sims {

/// What `[heating]` holds where nothing is advanced.
core::Table<solvers::HeatingConfig> ionization_table();

/// The background that `heating` names. Throws core::Error, with its place, where there is none.
solvers::UvBackground named_background(const std::string& name, const core::Node& heating);

/// Whose redshift a background is taken at: "the run ends at", "the file is of".
struct BackgroundUse {
  double redshift = 0.0;
  std::string whose;
};
/// Throw core::Error, with the place in `heating`, where a background says nothing of a redshift: a mistake in its
/// table or its units. The first where it has not set in by then, the second where its table ends before.
void check_has_set_in(const solvers::UvBackground& background, const BackgroundUse& use, const core::Node& heating);
void check_goes_on(const solvers::UvBackground& background, const BackgroundUse& use, const core::Node& heating);

/// Says what it is among the attributes and words of a moment, and so of results.
void tell_heating(const solvers::HeatingConfig& config, mesh::Moment& moment);

/// The names of what follows from equilibrium of ionisation: temperature, electron_fraction, neutral_hydrogen,
/// singly_ionized_helium.
const std::vector<std::string>& ionization_names();

/// What was added to the state in a file.
struct Ionization {
  solvers::HeatingConfig config;
  std::vector<std::string> names;  ///< of the quantities
  std::shared_ptr<const solvers::HeatingCooling> physics;
  double redshift = 0.0;

  /// Gas in the units of the file.
  solvers::HeatingCooling::Epoch gas() const;
};

/// Adds to the state in a file, in our units, those of `ionization_names` that it does not have and that are not among
/// `but`: of gas of hydrogen and helium in equilibrium of ionisation with a background (docs/reference/
/// heating_cooling.md), by its density and its `temperature` or, where it has none, its `specific_internal_energy`.
/// NaN in cells that hold no gas: `check_gas` names them. With self-shielding, the mean density of the gas is taken,
/// for which it is read. The moment tells what was taken. Collective. Throws core::Error when the file lacks what it
/// takes.
Ionization add_ionization(const comm::Communicator& comm, const solvers::HeatingConfig& config,
                          const std::vector<std::string>& but, mesh::Snapshot& file);

}  // namespace sidestream::sims
