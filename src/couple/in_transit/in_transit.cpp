#include "couple/entries.hpp"
#include "couple/in_transit/mpi_channel.hpp"
#include "couple/in_transit/sidecar.hpp"
#include "couple/queue/queued_transport.hpp"

namespace sidestream::couple {

TransportEntry in_transit() {
  return {.name = "in-transit",
          .documentation = "on sidecars, while the simulation goes on",
          .make =
              [](Surroundings& around) {
                return std::make_unique<QueuedTransport>(around, "sidecars", std::make_unique<MpiChannel>(around));
              },
          .serve = [](Surroundings& around) { Sidecar(around).serve(); },
          .has_queue = true};
}

}  // namespace sidestream::couple
