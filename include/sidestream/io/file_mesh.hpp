#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sidestream/io/snapshot_file.hpp"
#include "sidestream/mesh/forest.hpp"

namespace sidestream::io {

/// The mesh of a file as blocks of one size.
struct FileMesh {
  mesh::Forest forest;
  bool has_same_blocks = true;  ///< the file's boxes are the blocks of `forest`
};

/// The forest of blocks of `block` cells a side that has the file's resolution everywhere (and more where whole groups
/// of siblings or 2:1 balance ask for it). Local, O(blocks). Throws core::Error when the blocks do not fit the domain
/// or a level is not twice as fine as the one before.
FileMesh mesh_of(const FileDescription& file, std::int32_t block);

/// The largest power of two, up to 64, at whose multiples all boxes begin and end (flat axes aside); nothing when that
/// is below 2. Local, O(boxes).
std::optional<std::int32_t> block_of(const FileDescription& file);

/// Fills component `component` of all levels, fields on the blocks of `mesh`, from the field `name` of a file: with the
/// file's own blocks every bit of every level, with others each cell from the finest level that has it. Local.
void read_levels(const SnapshotFile& file, const std::string& name, const FileMesh& mesh,
                 std::vector<mesh::Field<double>>& levels, int component = 0);

}  // namespace sidestream::io
