#pragma once

#include <cstdint>
#include <string>

#include "io/containers/hdf5/hdf5_handle.hpp"

namespace sidestream::io {

/// An HDF5 file that HDF5 reads through an InputFile, so that what another rank has told of it need not be read, and
/// that every read is counted and exactly as long as what is wanted. Throws core::Error where it cannot be opened.
FileHandle open_hdf5(const std::string& path);
/// The same while a QuietHdf5 lives already.
FileHandle open_hdf5_quietly(const std::string& path);

/// The length of a file that was opened so.
std::int64_t size_bytes_of(hid_t file);

}  // namespace sidestream::io
