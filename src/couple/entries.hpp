#pragma once

#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// The transports, each in a file or a folder of its name.
TransportEntry in_situ();
TransportEntry in_transit();
TransportEntry async();
TransportEntry stream();
TransportEntry file();

/// To jobs of their own: for tasks of any transport that may be isolated, and named by none.
const TransportEntry& isolated();

}  // namespace sidestream::couple
