#pragma once

// The tables of a stored merge tree; `MergeTree::to_result` says what is in them.
namespace sidestream::analysis::tree_tables {

inline constexpr const char* of_block = "tree_block";
inline constexpr const char* of_run = "tree_run";
inline constexpr const char* of_cell = "tree_cell";
inline constexpr const char* of_maximum = "tree_maximum";

/// Columns over the cells: the tree's own field, and how the names of others begin.
inline constexpr const char* own_field = "cell_value";
inline constexpr const char* field_prefix = "cell_";
inline constexpr const char* maximum_of_cell = "cell_maximum";

}  // namespace sidestream::analysis::tree_tables
