#pragma once

#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// The transports, each in a file or a folder of its name.
TransportEntry in_situ();
TransportEntry in_transit();
TransportEntry async();
TransportEntry file();

}  // namespace sidestream::couple
