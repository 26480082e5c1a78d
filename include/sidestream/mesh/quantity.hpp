#pragma once

#include <map>
#include <string>
#include <vector>

#include "sidestream/mesh/box.hpp"

namespace sidestream::mesh {

/// What a number of each cell is. A quantity has one name; other names live with the file formats that use them.
struct Quantity {
  std::string name, unit;
  std::string meaning{};  ///< one line
  bool is_state = false;  ///< a restart goes on from it
  /// The sum of others that are there too: analyses elsewhere are sent those and add them up.
  bool is_of_parts = false;
};

/// What quantities lie on, with a domain of its own.
struct Grid {
  Box domain;  ///< of level 0
  std::vector<Quantity> quantities;
};
/// Those of a simulation by name; the one of its state has none.
using Grids = std::map<std::string, Grid>;

/// The names of `quantities`, in their order.
std::vector<std::string> names_of(const std::vector<Quantity>& quantities);

}  // namespace sidestream::mesh
