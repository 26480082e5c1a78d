#pragma once

#include <optional>
#include <vector>

#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::sims {

/// A quantity that follows, cell by cell, from others: of every simulation that has these.
struct CommonQuantity {
  mesh::Quantity quantity;
  std::vector<std::string> of;  ///< names of those that it follows from; `derive` is given their cells in this order
  mesh::Snapshot::Derivation derive;
};

// One function each, in a file of its name; nothing where those that it follows from are not `there`.
// `common_quantities.cpp` lists them.

std::optional<CommonQuantity> total_density(const std::vector<mesh::Quantity>& there);

/// `quantities` and all common ones that follow from them.
std::vector<mesh::Quantity> with_common_quantities(std::vector<mesh::Quantity> quantities);
/// Adds to a snapshot what follows from its quantities.
void add_common_quantities(mesh::Snapshot& snapshot);

/// The one of this name, or null.
const mesh::Quantity* find(const std::vector<mesh::Quantity>& quantities, const std::string& name);

}  // namespace sidestream::sims
