#pragma once

#include <cstddef>
#include <span>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::comm {

/// Memory that all ranks of a node read and write directly (MPI_Win_allocate_shared). Move-only; constructor and
/// destructor are collective on the node communicator, which must outlive the window.
class SharedWindow {
 public:
  /// `size_bytes` of this rank's own part; may differ between ranks and may be zero.
  SharedWindow(const Communicator& node, std::size_t size_bytes);
  ~SharedWindow();
  SharedWindow(SharedWindow&& other) noexcept;
  SharedWindow& operator=(SharedWindow&& other) noexcept;

  /// The part of `rank` of the node communicator.
  std::span<std::byte> part(int rank) const;
  /// Makes what every rank wrote before visible to every rank after: barrier and memory fence. Collective.
  void synchronize() const;

 private:
  MPI_Win window_ = MPI_WIN_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace sidestream::comm
