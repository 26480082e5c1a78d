#pragma once

#include "sidestream/mesh/particles.hpp"
#include "sidestream/solvers/momentum.hpp"

namespace sidestream::test {

/// x += `dtau` * w for all particles: the plain twin of what `ParticleMesh::kick` does besides.
inline void drift(double dtau, mesh::Particles& particles) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const auto& w = particles.attribute(solvers::momentum_names[axis]);
    for (std::size_t n = 0; n < particles.size(); ++n) particles.position[axis][n] += dtau * w[n];
  }
}

}  // namespace sidestream::test
