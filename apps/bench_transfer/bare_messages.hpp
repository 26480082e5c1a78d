#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "box_by_box.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::bench {

/// What the network can do: as many bytes as a transfer has between each two ranks, from and to contiguous memory, in
/// messages of the size that is fastest here.
class BareMessages {
 public:
  /// Between the same ranks as `transfer` has; `comm` outlives it.
  BareMessages(const comm::Communicator& comm, const BoxByBox& transfer, int components);

  /// Tries each size; `time` runs what it is given, and tells the seconds that the slowest rank took. Collective.
  void choose_size(const std::function<double(const std::function<void()>& run)>& time);
  /// Of a message; 0: all that goes to a rank is one.
  std::int64_t most_bytes() const { return most_bytes_; }

  /// Collective.
  void operator()();

 private:
  struct Pair {
    int peer = 0;
    std::vector<std::byte> bytes;
  };
  template <typename Post>
  void post(std::vector<Pair>& pairs, Post one);

  const comm::Communicator& comm_;
  std::vector<Pair> outgoing_, incoming_;
  std::vector<MPI_Request> requests_;
  std::int64_t most_bytes_ = 0;
};

}  // namespace sidestream::bench
