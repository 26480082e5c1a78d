#pragma once

#include <string>
#include <vector>

namespace sidestream::mesh {

/// What a number of each cell is. A quantity has one name; other names live with the file formats that use them.
struct Quantity {
  std::string name, unit;
  std::string meaning{};  ///< one line
  bool is_state = false;  ///< a restart goes on from it
  /// The sum of others that are there too: analyses elsewhere are sent those and add them up.
  bool is_of_parts = false;
};

/// The names of `quantities`, in their order.
std::vector<std::string> names_of(const std::vector<Quantity>& quantities);

}  // namespace sidestream::mesh
