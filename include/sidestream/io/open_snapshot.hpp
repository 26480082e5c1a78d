#pragma once

#include <map>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// A file as a state that analyses read.
struct OpenedSnapshot {
  mesh::Snapshot snapshot;
  std::map<std::string, std::string> texts;  ///< what the file holds beside it
};

/// The state in a plot file, checkpoint or stored snapshot of any format, on the blocks of the file dealt to the ranks
/// of `comm`. Quantities have their names of everywhere, units as in the file, and are read on first use, each rank its
/// own blocks; particles, in the leaves that hold them, when somebody asks for them. Collective, as first uses are;
/// `comm` outlives the snapshot. Throws core::Error on all ranks, here or on first use, naming the file and what is
/// wrong with it.
OpenedSnapshot open_snapshot(const comm::Communicator& comm, const std::string& path);

}  // namespace sidestream::io
