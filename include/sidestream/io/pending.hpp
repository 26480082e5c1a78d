#pragma once

#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream::io {

// A checkpoint is pending from when it is written until all that was to be done before it is on the disk. It lies,
// whole and durable and under the name it will have, in the folder `pending` of the run, where no restart looks for it;
// one rename commits it. That is so for every format.

/// Where the checkpoint `path` (RUN/NAME) lies while it is pending: RUN/pending/NAME.
std::string pending_path(const std::string& path);
/// Whether `path` is that of a pending checkpoint.
bool is_pending(const std::string& path);

/// Writes the checkpoint `path` as a pending one, as `write_snapshot` does. Collective; all ranks throw together.
AccessStatistics write_pending(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const FileChoice& choice,
                               const std::string& path);

/// Gives the pending checkpoint `path` its name, at once and durably; what had the name goes. Local: one rank does it,
/// after all have returned from `write_pending`.
void commit(const std::string& path);

/// Removes what a run left pending in `folder`. Local.
void remove_pending(const std::string& folder);

}  // namespace sidestream::io
