#pragma once

#include <mpi.h>

#include <cstddef>
#include <vector>

#include "redistribute/planner.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::redistribute {

/// The ranks that cells come from or go to, ascending, and their graph for the neighborhood collectives of MPI.
/// Neighbors are so both ways, also where cells go only one way: where a rank has fewer to receive from than to send
/// to, MPICH (4.0) loses what is sent to the last ones.
class Neighborhood {
 public:
  /// Collective on `comm`, like the destructor.
  Neighborhood(const comm::Communicator& comm, const Tables& tables);
  ~Neighborhood();
  Neighborhood(const Neighborhood&) = delete;
  Neighborhood& operator=(const Neighborhood&) = delete;

  MPI_Comm raw() const { return graph_; }
  std::size_t size() const { return ranks_.size(); }
  /// Where `peer`, one of them, stands in the lists that the collectives take.
  std::size_t place_of(int peer) const;

 private:
  std::vector<int> ranks_;
  MPI_Comm graph_ = MPI_COMM_NULL;
};

}  // namespace sidestream::redistribute
