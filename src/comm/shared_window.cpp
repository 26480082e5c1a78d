#include "sidestream/comm/shared_window.hpp"

#include <utility>

namespace sidestream::comm {

SharedWindow::SharedWindow(const Communicator& node, std::size_t size_bytes) : comm_(node.raw()) {
  std::byte* base = nullptr;
  check(MPI_Win_allocate_shared(static_cast<MPI_Aint>(size_bytes), 1, MPI_INFO_NULL, comm_, &base, &window_),
        "MPI_Win_allocate_shared");
  check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
}

SharedWindow::~SharedWindow() {
  if (window_ == MPI_WIN_NULL) return;
  MPI_Win_unlock_all(window_);
  MPI_Win_free(&window_);
}

SharedWindow::SharedWindow(SharedWindow&& other) noexcept
    : window_(std::exchange(other.window_, MPI_WIN_NULL)), comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}

SharedWindow& SharedWindow::operator=(SharedWindow&& other) noexcept {
  std::swap(window_, other.window_);
  std::swap(comm_, other.comm_);
  return *this;
}

std::span<std::byte> SharedWindow::part(int rank) const {
  MPI_Aint size = 0;
  int unit = 0;
  std::byte* base = nullptr;
  check(MPI_Win_shared_query(window_, rank, &size, &unit, &base), "MPI_Win_shared_query");
  return {base, static_cast<std::size_t>(size)};
}

void SharedWindow::synchronize() const {
  check(MPI_Win_sync(window_), "MPI_Win_sync");
  check(MPI_Barrier(comm_), "MPI_Barrier");
  check(MPI_Win_sync(window_), "MPI_Win_sync");
}

}  // namespace sidestream::comm
