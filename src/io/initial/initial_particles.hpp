#pragma once

#include <cstddef>
#include <string>

#include "sidestream/mesh/particles.hpp"

namespace sidestream::io {

/// `count` particles with the attributes that the reading of initial conditions gives; those of gas have internal
/// energies too.
mesh::Particles empty_initial_particles(std::size_t count, bool is_gas);

/// Throws a core::Error naming the first particle with a number that is not finite, or with a mass below zero.
void check_initial_particles(const mesh::Particles& particles, const std::string& path);

}  // namespace sidestream::io
