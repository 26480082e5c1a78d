#pragma once

#include <memory>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/sims/simulation.hpp"
#include "sims/cosmology/cosmology_config.hpp"

namespace sidestream::sims {

/// A universe that begins as `config` says, with gas or without.
std::unique_ptr<Simulation> make_cosmology(const CosmologyConfig& config, const comm::Communicator& comm,
                                           const couple::Landings& landings, core::Bill& bill);

}  // namespace sidestream::sims
