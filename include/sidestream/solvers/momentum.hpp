#pragma once

#include <array>
#include <string>

namespace sidestream::solvers {

/// Names of the attributes that hold the momentum per unit mass w = a u [km/s] of particles (u: proper peculiar
/// velocity), so that dx/dtau = w and dw/dtau = -grad Phi in supercomoving time.
inline const std::array<std::string, 3> momentum_names{"momentum_x", "momentum_y", "momentum_z"};

}  // namespace sidestream::solvers
