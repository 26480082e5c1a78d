#pragma once

#include <functional>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// Which data file a rank writes to, as one of a run of ranks that write one after another.
struct Turn {
  int file = 0;
  bool is_first = true, is_last = true;  ///< of the ranks of this file
};

/// The turn of `rank` of `ranks` when at most `files` files are written. So many ranks that follow each other stay
/// `together`.
Turn turn_of(int rank, int ranks, int files, int together = 1);

/// Calls `work` on every rank: ranks that share a file one after another, different files at the same time. When `work`
/// throws, the ranks after it are skipped and all ranks throw that error together. Collective on `comm`.
void take_turns(const comm::Communicator& comm, int files, const std::function<void(const Turn&)>& work,
                int together = 1);

}  // namespace sidestream::io
