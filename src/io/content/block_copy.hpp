#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/mesh/field.hpp"

namespace sidestream::io {

/// The cells `ratio` times as long that meet `box`.
mesh::Box coarsened(const mesh::Box& box, mesh::Int3 ratio);

/// The boxes of `source`, whose cells are `ratio` cells of `into` long, that meet boxes of this rank's part of `into`,
/// ascending.
std::vector<std::int32_t> boxes_needed(const mesh::Layout& source, const mesh::Field<double>& into,
                                       mesh::Int3 ratio = {1, 1, 1});

/// Copies the cells of `box`, an array (component, z, y, x), each `ratio` cells of `into` long, into the owned cells of
/// `into` that it covers. Returns how many.
std::int64_t copy_box(const mesh::Box& box, const double* cells, mesh::Field<double>& into,
                      mesh::Int3 ratio = {1, 1, 1});
/// The same for one component: `cells` is an array (z, y, x).
std::int64_t copy_box(const mesh::Box& box, const double* cells, mesh::Field<double>& into, int component,
                      mesh::Int3 ratio = {1, 1, 1});

/// Number of cells that this rank owns in `field`.
std::int64_t owned_cells(const mesh::Field<double>& field);

/// Throws unless all of `into`'s owned cells were covered by boxes of a file at `where`.
void check_covered(std::int64_t copied, const mesh::Field<double>& into, const std::string& where);

/// Throws a core::Error about a file unless the domains are the same.
void check_domain(const mesh::Box& in_file, const mesh::Box& wanted, const std::string& where);

/// The most cells that an axis, a box or a domain may have in a file: beyond them a header counts as damaged, and
/// within them no number of bytes of a box overflows.
inline constexpr std::int32_t most_cells_an_axis = 1 << 29;  // so that those of the next level have numbers
inline constexpr double most_cells_a_domain = 4e18;
inline constexpr std::int64_t most_cells_a_box = std::int64_t{1} << 40;

/// Why `boxes` cannot be the disjoint boxes of `domain`, or "": never costs more than O(boxes), whatever they hold.
std::string fault_of_boxes(const mesh::Box& domain, const std::vector<mesh::Box>& boxes);

}  // namespace sidestream::io
