#pragma once

#include <cstdint>
#include <optional>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// Where HDF5 begins in a file: at its first byte or, behind a user block, at 512 bytes or a power of two times that.
/// Nothing in other files.
std::optional<std::int64_t> begin_of_hdf5(const InputFile& file);

}  // namespace sidestream::io
