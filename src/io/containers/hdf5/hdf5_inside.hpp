#pragma once

#include <string>

#include "io/containers/hdf5/hdf5_handle.hpp"

namespace sidestream::io {

// What is read of an HDF5 file lies in that file, and HDF5 itself reads it. A file could otherwise have other files
// opened (links and arrays that lead there, which may be whatever the user can read, or wait for ever) and programs
// loaded (filters that are plugins). The parts of a file in parts (`file_parts.hpp`) belong to it. Every member that is
// opened for reading goes through here.

/// A dataset to be read. Throws core::Error where it is reached by a link to another file, lies in other files, or
/// takes a filter that HDF5 has not of its own. Parts are no other files.
DatasetHandle open_dataset(hid_t file, const std::string& name);

/// Of a dataset that is spread over other files, as its properties tell: how many times rows are taken from one, and
/// the name of the file then.
std::size_t number_of_sources(hid_t creation);
std::string file_of_source(hid_t creation, std::size_t source);

/// A group or dataset, of which attributes and names are asked for. The same of links.
ObjectHandle open_object(hid_t file, const std::string& name);

/// Whether there is a link of this name, the last part of which may lead anywhere.
bool has_link(hid_t file, const std::string& name);

}  // namespace sidestream::io
