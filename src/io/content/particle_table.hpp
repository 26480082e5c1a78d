#pragma once

#include <vector>

#include "io/content/file_content.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// The table that a file has of `species`, each with its stored particles and numbers. That of one species is what it
/// stores. Of several it has the rows of all, one species after the other, the numbers of all, 0 where a species has
/// none, and the column `species_column`, which counts species from 1; a species without a number `mass` has the mass
/// of its particles there. Collective. Throws core::Error on all ranks when species give a number in different units.
ParticleTable table_of(const comm::Communicator& comm, const std::vector<mesh::Species>& species);

/// The rows of each of `species`, with its own numbers; `where`: the file, for messages. Throws core::Error where a row
/// is of none of them.
std::vector<mesh::Particles> of_species(mesh::Particles rows, const std::vector<FileSpecies>& species,
                                        const std::string& where);

}  // namespace sidestream::io
