#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::bench {

/// The transfer of Friesen et al. (2016), for comparison: one message for each component of each box of a sender and
/// receiver that share cells. Sends and receives of a call are all under way at once.
class BoxByBox {
 public:
  /// `comm` outlives it.
  BoxByBox(const comm::Communicator& comm, const mesh::Layout& from, const mesh::Layout& to);

  /// Collective. Both fields have as many components.
  void apply(const mesh::Field<double>& from, mesh::Field<double>& to);

  /// Messages of this rank a component, sent and received.
  std::size_t sent() const { return sent_.size(); }
  std::size_t received() const { return received_.size(); }
  /// Cells of this rank that go to each other one, and that come from each.
  std::map<int, std::int64_t> cells_to() const { return cells_of(sent_); }
  std::map<int, std::int64_t> cells_from() const { return cells_of(received_); }

 private:
  struct Part {
    mesh::Box cells;
    int block = 0;  // of the own field
    int peer = 0;
  };

  static std::map<int, std::int64_t> cells_of(const std::vector<Part>& parts);
  void receive(const mesh::Field<double>& to, std::vector<MPI_Request>& requests);

  const comm::Communicator& comm_;
  std::vector<Part> sent_, received_;
  std::vector<std::vector<double>> out_, in_;
};

}  // namespace sidestream::bench
