#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/access_statistics.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// Writes what `choice` takes of `snapshot`. Blocks that finer ones cover hold the averages, or NaN where the snapshot
/// has the leaves alone. `path` appears complete and durable or not at all, replacing what has its name. Collective on
/// `comm`, whose ranks own the blocks of the snapshot: when one fails (disk full), all throw its core::Error and
/// nothing of the new file is left. Returns this rank's statistics.
AccessStatistics write_snapshot(const comm::Communicator& comm, const mesh::Snapshot& snapshot,
                                const FileChoice& choice, const std::string& path);

/// Throws core::Error, with the place, where the format holds no compressed cells, or a checkpoint would lose
/// something.
void check_compression(const FileChoice& choice);

/// Makes what all ranks have to make together of `choice`. Collective.
void prepare(const mesh::Snapshot& snapshot, const FileChoice& choice);

/// A copy of all that `choice` takes of `snapshot`, to be written while the simulation goes on. Collective.
mesh::Snapshot copy_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice);

}  // namespace sidestream::io
