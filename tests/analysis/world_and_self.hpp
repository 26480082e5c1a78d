#pragma once

#include "sidestream/comm/communicator.hpp"

namespace sidestream::test {

/// All ranks, and each for itself, for what has to be the same on both.
class WorldAndSelf {
 public:
  const comm::Communicator& operator*() const { return world_; }
  int size() const { return world_.size(); }

 protected:
  comm::Communicator world_{MPI_COMM_WORLD}, self_{MPI_COMM_SELF};
};

}  // namespace sidestream::test
