#pragma once

#include <map>
#include <optional>
#include <string>
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
std::optional<CommonQuantity> velocity_x(const std::vector<mesh::Quantity>& there);
std::optional<CommonQuantity> velocity_y(const std::vector<mesh::Quantity>& there);
std::optional<CommonQuantity> velocity_z(const std::vector<mesh::Quantity>& there);
std::optional<CommonQuantity> specific_internal_energy(const std::vector<mesh::Quantity>& there);

/// `quantities` and all common ones that follow from them.
std::vector<mesh::Quantity> with_common_quantities(std::vector<mesh::Quantity> quantities);
/// By the name of a quantity, those that it follows from.
using Sources = std::map<std::string, std::vector<std::string>>;
/// Adds to a snapshot what follows from its quantities, and says from which.
Sources add_common_quantities(mesh::Snapshot& snapshot);

/// The one of this name, or null.
const mesh::Quantity* find(const std::vector<mesh::Quantity>& quantities, const std::string& name);

/// `unit`, or that of `of` where its numbers have none.
std::string unit_beside(const mesh::Quantity& of, const std::string& unit);

}  // namespace sidestream::sims
