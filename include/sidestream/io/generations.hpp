#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/format.hpp"

namespace sidestream::io {

/// A checkpoint in the folder of a run, of any format.
struct Generation {
  std::int64_t step = 0;
  std::string path;
  const Format* format = nullptr;
};

/// All committed checkpoints in `folder`, the newest first. Local.
std::vector<Generation> generations_in(const std::string& folder);
/// The same as the first rank sees them, on all ranks. Collective.
std::vector<Generation> generations_in(const comm::Communicator& comm, const std::string& folder);

/// Removes all but the newest `keep` checkpoints of `folder` that are complete, and what is left of others. Local: call
/// it on one rank after a checkpoint was committed; plot files may be written meanwhile.
void remove_old_generations(const std::string& folder, int keep);

/// Whether `name` is that of a plot file or checkpoint of some format.
bool is_output_name(const std::string& name);
/// Whether `name` is that under which such a file was being written.
bool is_unfinished_output(const std::string& name);

}  // namespace sidestream::io
