#pragma once

#include <memory>
#include <string>

#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// The name of a variable's array: HDF5 keeps `/` for itself.
std::string vtkhdf_array_name(std::string name);

/// What we keep in the file outside the group of VTK: the description, and for each level an array (boxes, variables)
/// of checksums.
inline constexpr const char* vtkhdf_metadata = "sidestream/metadata";
inline constexpr const char* vtkhdf_record = "sidestream/record";
std::string vtkhdf_checksums(std::size_t level);

/// Whether the file at `path` is an HDF5 file with a group VTKHDF of overlapping boxes. Never throws.
bool is_vtkhdf_file(const std::string& path);

std::unique_ptr<SnapshotFile> open_vtkhdf_file(const std::string& path);

}  // namespace sidestream::io
