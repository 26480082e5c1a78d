#pragma once

#include <cstdint>
#include <string>

#include "sidestream/mesh/snapshot.hpp"
#include "sims/turbulence/turbulence_config.hpp"

namespace sidestream::sims {

/// What of the physics of a run is a species of tracers: its key, and the words that are kept with it.
std::string key_of(const TracerSpecies& species);
std::string words_of(const TracerSpecies& species);
/// Those of the `count` tracers of this name in a file. Plot files tell of no seed.
std::string words_in(const mesh::Snapshot& file, const TracerSpecies& species, std::int64_t count);

}  // namespace sidestream::sims
