#pragma once

#include "sidestream/comm/communicator.hpp"

namespace sidestream::test {

/// All ranks.
inline const comm::Communicator& world() {
  static const comm::Communicator comm(MPI_COMM_WORLD);
  return comm;
}

/// Each rank for itself.
inline const comm::Communicator& alone() {
  static const comm::Communicator comm(MPI_COMM_SELF);
  return comm;
}

}  // namespace sidestream::test
