#pragma once

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// Writes `file`, an HDF5 file, into the folder at `folder`, which is there, as a master and `parts` parts, at most as
/// many as there are ranks: ranks that follow each other write a part by `options.method`, each its rows; the master
/// has all that is small, and shows the arrays of the parts as its own. Collective; all throw together.
AccessStatistics write_split_file(const comm::Communicator& comm, const std::string& folder, const ArrayFile& file,
                                  int parts, const WriteOptions& options);

}  // namespace sidestream::io
