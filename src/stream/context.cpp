#include "stream/context.hpp"

#include <zmq.h>

#include "sidestream/core/error.hpp"

namespace sidestream::stream {

void* context() {
  static void* const only = [] {
    void* const made = zmq_ctx_new();
    core::require(made != nullptr, "ZeroMQ begins");
    zmq_ctx_set(made, ZMQ_MAX_SOCKETS, zmq_ctx_get(made, ZMQ_SOCKET_LIMIT));  // a reader has one for each rank of a run
    return made;
  }();
  return only;
}

}  // namespace sidestream::stream
