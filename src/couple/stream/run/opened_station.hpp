#pragma once

#include <memory>
#include <string>
#include <vector>

#include "couple/stream/run/socket_folder.hpp"
#include "couple/stream/run/station.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/couple/config.hpp"
#include "sidestream/stream/socket.hpp"

namespace sidestream::couple {

/// The station of a rank, at an address that readers can reach.
struct OpenedStation {
  /// The addresses of a rank that gives cells.
  struct Place {
    std::string messages, plain;
  };

  SocketFolder sockets;  ///< of the run; none where addresses are of a network
  std::unique_ptr<Station> station;
  std::vector<Place> places;  ///< of all ranks; on the first
};

/// The keys of the run and those that it lets in.
stream::Security security_of(const StreamConfig& config);

/// Every rank gives its own cells. `refused` is told of keys that are not let in. Collective on the group. Throws
/// core::Error on all ranks where one has no address.
OpenedStation open_station(const comm::Communicator& group, const CouplingConfig& config,
                           const stream::Server::Refused& refused);

}  // namespace sidestream::couple
