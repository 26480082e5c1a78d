#pragma once

#include <memory>
#include <string>

#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

inline constexpr const char* example_magic = "sidestream-example";
// Names of arrays.
std::string example_cells(std::size_t level);
std::string example_checksums(std::size_t level);

bool is_example_file(const std::string& path);
std::unique_ptr<SnapshotFile> open_example_file(const std::string& path);

}  // namespace sidestream::io
