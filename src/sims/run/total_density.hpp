#pragma once

#include <vector>

#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// `quantities` and, where gas or dark matter is among them, the density of both together.
std::vector<mesh::Quantity> with_total_density(std::vector<mesh::Quantity> quantities);

/// Adds it to a snapshot that has gas or dark matter.
void add_total_density(mesh::Snapshot& snapshot);

}  // namespace sidestream::sims
