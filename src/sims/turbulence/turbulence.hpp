#pragma once

#include <memory>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/bill.hpp"
#include "sidestream/sims/simulation.hpp"
#include "sims/turbulence/turbulence_config.hpp"

namespace sidestream::sims {

/// A flow that begins as `config` says and takes steps in the precision that it names.
std::unique_ptr<Simulation> make_turbulence(const TurbulenceConfig& config, const comm::Communicator& comm,
                                            const couple::Landings& landings, core::Bill& bill);

}  // namespace sidestream::sims
