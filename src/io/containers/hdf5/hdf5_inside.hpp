#pragma once

#include <string>

#include "io/containers/hdf5/hdf5_handle.hpp"

namespace sidestream::io {

// What is read of an HDF5 file lies in that file, and HDF5 itself reads it. A file could otherwise have other files
// opened (links and arrays that lead there, which may be whatever the user can read, or wait for ever) and programs
// loaded (filters that are plugins). Every member that is opened for reading goes through here.

/// A dataset to be read. Throws core::Error where it is reached by a link to another file, lies in other files, or
/// takes a filter that HDF5 has not of its own.
DatasetHandle open_dataset(hid_t file, const std::string& name);

/// A group or dataset, of which attributes and names are asked for. The same of links.
ObjectHandle open_object(hid_t file, const std::string& name);

/// Whether there is a link of this name, the last part of which may lead anywhere.
bool has_link(hid_t file, const std::string& name);

}  // namespace sidestream::io
