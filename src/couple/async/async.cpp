#include "couple/async/thread_channel.hpp"
#include "couple/entries.hpp"
#include "couple/queue/queued_transport.hpp"

namespace sidestream::couple {

TransportEntry async() {
  return {.name = "async",
          .documentation = "on a thread of each rank that computes, while the simulation goes on",
          .make =
              [](Surroundings& around) {
                return std::make_unique<QueuedTransport>(around, "threads", std::make_unique<ThreadChannel>(around));
              },
          .has_queue = true,
          .needs_threads = true,
          .may_isolate = true};
}

}  // namespace sidestream::couple
