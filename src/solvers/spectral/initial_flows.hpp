#pragma once

#include "sidestream/solvers/spectral/initial_flow.hpp"

namespace sidestream::solvers {

void set_random_flow(const InitialFlowConfig& config, std::uint64_t seed, const comm::Communicator& comm,
                     IncompressibleFlow& flow);

}  // namespace sidestream::solvers
