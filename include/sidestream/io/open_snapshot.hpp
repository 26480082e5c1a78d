#pragma once

#include <functional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::io {

/// Says on what blocks the cells of a file are wanted, given what the file tells of its state: `levels` are its boxes
/// there, whether finer ones cover them or not, and nothing may be read. Local, the same on all ranks.
using Deal = std::function<mesh::LevelLayouts(const mesh::Snapshot& file)>;

/// The state in a plot file, checkpoint or stored snapshot of any format. Quantities have their names of everywhere,
/// units as in the file, and are read when somebody asks for them, each rank its own blocks; so are the particles. A
/// checkpoint has numbers of the state, other files none. Blocks are those of `deal`; without it those of the file,
/// dealt in equal numbers to the ranks of `comm`, as far as its boxes nest. On blocks that are not the file's a cell
/// has the value of the finest level of the file that has it. Collective, as first uses are; `comm` outlives the
/// snapshot. Throws core::Error on all ranks, here or on first use, naming the file and what is wrong with it.
mesh::Snapshot open_snapshot(const comm::Communicator& comm, const std::string& path, const Deal& deal = {});

}  // namespace sidestream::io
