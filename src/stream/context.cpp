#include "stream/context.hpp"

#include <zmq.h>

#include "sidestream/core/error.hpp"

namespace sidestream::stream {

void* context() {
  static void* const only = [] {
    void* const made = zmq_ctx_new();
    core::require(made != nullptr, "ZeroMQ begins");
    return made;
  }();
  return only;
}

}  // namespace sidestream::stream
