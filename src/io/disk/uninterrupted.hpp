#pragma once

#include <cerrno>

namespace sidestream::io {

/// The result of a call of the system, made again as long as a signal interrupts it.
template <typename F>
int uninterrupted(const F& call) {
  int result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace sidestream::io
