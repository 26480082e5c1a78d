#pragma once

#include <vector>

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// Rows that are cells of blocks with ghost cells around them, which a library is to pick out itself.

/// Whether all arrays of `group` may be written in place on all ranks: the same answer everywhere. Collective.
/// Bytes of netCDF files are swapped, so there nothing is.
bool is_in_place(const ArrayWrite& work, const ArrayGroup& group);

/// Throws a core::Error unless run r is block r of the field: as many cells, of components that are there. Local.
void check_in_place(const ArrayGroup& group, std::size_t array);

/// Whether all blocks of the field have the same shape.
bool has_equal_blocks(const mesh::FieldView<const double>& field);
/// Where the memory of block `b` begins, ghost cells included.
const double* start_of(const mesh::FieldView<const double>& field, int b);
/// Whether the blocks, ghost cells included, lie one after another as (component, z, y, x) without gaps.
bool lies_together(const mesh::FieldView<const double>& field);

}  // namespace sidestream::io
