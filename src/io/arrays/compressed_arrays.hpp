#pragma once

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// The groups of `file` as they go to the disk: those with arrays that are compressed become one group an array, whose
/// rows are words of compressed bytes and whose arrays tell their chunks. Their checksums are rows of a group as well.
/// All runs of a rank are compressed now and kept until they are written. Collective; in the bytes of a file the
/// number of ranks does not show.
std::vector<ArrayGroup> with_compressed_arrays(const comm::Communicator& comm, const ArrayFile& file);

}  // namespace sidestream::io
