#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// What we keep beside Enzo's own files in the folder.
inline constexpr const char* enzo_metadata_name = "sidestream.json";

/// A parameter of our files only, which tells that the other one must be there.
inline constexpr const char* enzo_own_parameter = "SidestreamMetadata";

/// Checksum of a text as that file holds it.
std::string enzo_checksum(std::string_view text);

/// The path of the parameter file of the Enzo files at `path` (their folder, parameter file or hierarchy), if there
/// are any. Never throws.
std::optional<std::string> enzo_stem(const std::string& path);

/// Whether we wrote them with the grids of all ranks in one file. Never throws.
bool is_shared_enzo_file(const std::string& path);

std::unique_ptr<SnapshotFile> open_enzo_file(const std::string& path);

}  // namespace sidestream::io
