#pragma once

#include <mpi.h>

#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::bench {

/// The scheme of the data redistribution library DDR (Marrinan et al. 2019), for comparison: one MPI_Alltoallw of the
/// whole communicator, with subarray types, for each chunk that a rank owns; each rank needs one chunk. Fields of
/// doubles of one component, without ghost cells.
class Chunkwise {
 public:
  /// Collective on `comm`, which outlives it. Each rank has one box of `to` at most.
  Chunkwise(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to);
  ~Chunkwise();
  Chunkwise(const Chunkwise&) = delete;
  Chunkwise& operator=(const Chunkwise&) = delete;

  void apply(mesh::Field<double>& from, mesh::Field<double>& to) const;

 private:
  struct Call {
    std::vector<int> send_counts, receive_counts, zeros;
    std::vector<MPI_Datatype> send_types, receive_types;
  };

  const comm::Communicator& comm_;
  std::vector<Call> calls_;
  std::vector<MPI_Datatype> made_;
};

}  // namespace sidestream::bench
