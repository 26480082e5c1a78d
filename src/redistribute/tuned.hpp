#pragma once

#include "redistribute/exchange.hpp"

namespace sidestream::redistribute {

/// The strategy that moves the fields of `job` fastest: from the wisdom file that `comm` names, or measured by moving
/// them (Combine::add: into memory of its own, for a sum cannot be made twice). Collective on `comm`.
Strategy tuned_strategy(const comm::Communicator& comm, const Tables& tables, const Job& job);

}  // namespace sidestream::redistribute
