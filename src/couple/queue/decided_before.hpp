#pragma once

#include "couple/surroundings.hpp"
#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// Of the tasks that are due where the decisions of another run are made again: those that a transport has to take, and
/// those that the ranks that compute do.
struct DecidedBefore {
  Orders open, here;
};
/// Those that were left out are booked as such.
DecidedBefore decided_before(Surroundings& around, const mesh::Moment& moment, const Orders& orders);

/// What happens when the queue is full: where it was decided before what is left out, whatever is sent is waited for.
const PolicyEntry& policy_of(const CouplingConfig& config);

}  // namespace sidestream::couple
