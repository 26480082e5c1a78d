#pragma once

#include "sidestream/solvers/spectral/initial_flow.hpp"

namespace sidestream::solvers {

template <typename Real>
void set_random_flow(const InitialFlowConfig& config, std::uint64_t seed, const comm::Communicator& comm,
                     IncompressibleFlow<Real>& flow);

}  // namespace sidestream::solvers
