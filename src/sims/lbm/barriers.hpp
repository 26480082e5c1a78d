#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"
#include "sidestream/mesh/box.hpp"
#include "sims/lbm/picture.hpp"

namespace sidestream::sims {

/// The name of barriers that somebody paints while a run goes on.
inline constexpr const char* painted_name = "painted";

/// Cells that a flow goes around: the table `[barrier.NAME]`, or a picture. Places are in cells: the middle of the
/// first cell lies at 0.5 along each axis.
struct Barrier {
  std::string name, shape;
  std::vector<double> center, from, to;
  std::optional<double> radius;
  double width = 1.0;
  std::optional<double> length;  ///< across the flow, of which coefficients of forces are made
  Picture picture;               ///< of the shape `picture`

  bool holds(mesh::Int3 cell) const;
  /// Its height across the flow along x, and what it shows to the flow, in a domain of so many cells along z.
  double height() const;
  double area(std::int32_t depth) const;
};

core::Table<Barrier> barrier_table();

/// Reads `[barrier.NAME]`, and the picture `path` of them that is named at `picture`, if any; stores the tables in
/// `resolved`. Throws core::Error where one does not lie in `domain`.
std::vector<Barrier> read_barriers(const core::Node& root, const std::string& path, const core::Node* picture,
                                   const mesh::Box& domain, core::Node& resolved);

/// The number of the first of them that holds a cell, from 1 on; 0: none.
std::int32_t barrier_at(const std::vector<Barrier>& barriers, mesh::Int3 cell);

}  // namespace sidestream::sims
