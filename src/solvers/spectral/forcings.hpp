#pragma once

#include "sidestream/solvers/spectral/forcing.hpp"

namespace sidestream::solvers {

std::unique_ptr<Forcing> make_stochastic_forcing(const ForcedBand& band, const ForcingConfig& config,
                                                 std::uint64_t seed);
std::unique_ptr<Forcing> make_frozen_forcing(const ForcedBand& band, const ForcingConfig& config, std::uint64_t seed);
std::unique_ptr<Forcing> make_power_forcing(const ForcedBand& band, const ForcingConfig& config, std::uint64_t seed);

}  // namespace sidestream::solvers
