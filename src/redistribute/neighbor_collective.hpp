#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "redistribute/exchange.hpp"
#include "redistribute/neighborhood.hpp"

namespace sidestream::redistribute {

/// What the strategies that bring all messages in one collective call among neighbors share: the call under way, and
/// where what it brings packed lies.
class NeighborCollective : public Exchange {
 public:
  NeighborCollective(const comm::Communicator& comm, const Tables& tables)
      : tables_(tables), neighbors_(comm, tables), payloads_(tables.incoming.messages.size()) {}

  bool test() final {
    int done = 0;
    comm::check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

 protected:
  void wait() { comm::check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

  const Tables& tables_;
  Neighborhood neighbors_;
  MPI_Request request_ = MPI_REQUEST_NULL;
  std::vector<const std::byte*> payloads_;  ///< of the messages that come
  const Job* job_ = nullptr;                ///< under way
};

}  // namespace sidestream::redistribute
