#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sidestream::io {

/// How long an HDF5 file says that it is, where it is shorter than that; nothing of other files. Never throws.
std::optional<std::int64_t> length_before_cut(const std::string& path);

}  // namespace sidestream::io
