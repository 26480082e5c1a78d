#pragma once

#include <string>

#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::redistribute {

/// How the exchanges of a run travel where nothing else is said.
struct ExchangeChoice {
  Strategy strategy = Strategy::automatic;
  std::string wisdom{};  ///< the file of `Wisdom`; empty: the usual one, "none": none
};

/// A duplicate of `comm` that carries `choice` along: plans of Strategy::automatic on it, and on all that is duplicated
/// or split from it, follow. Alike on all ranks. Collective.
comm::Communicator with_exchange(const comm::Communicator& comm, const ExchangeChoice& choice);

/// What `comm` carries. Local.
ExchangeChoice exchange_of(const comm::Communicator& comm);

}  // namespace sidestream::redistribute
