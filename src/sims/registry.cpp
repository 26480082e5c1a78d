#include <array>

#include "registry.hpp"

namespace sidestream::sims {

std::span<const SimulationEntry> simulations() {
  static const std::array all{cosmology_entry(), nbody_entry(), sod_entry()};
  return all;
}

}  // namespace sidestream::sims
