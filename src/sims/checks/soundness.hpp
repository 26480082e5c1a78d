#pragma once

#include <span>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::sims {

// Whether a state can be advanced. Each pass is through all of it, so it is made where a run begins and ends, before a
// checkpoint, and where the length of a step tells that something is wrong: that alone is looked at in every step.

/// What is wrong with the gas of a level, in a sentence; empty when all numbers are finite, densities above zero and
/// internal energies not below. Local.
std::string problem_of_gas(const mesh::Field<double>& gas, int level);

/// The same for positions and momenta of particles, whose velocities are momenta over `scale_factor`: they are finite,
/// and no particle is faster than light. Local.
std::string problem_of_particles(const mesh::Particles& particles, double scale_factor);

/// What to do about gas, particles alone, or heating and cooling that cannot be advanced.
inline constexpr const char* gas_hint =
    "look at the start and at the units of the configuration; where it went well for a while, go on from an earlier "
    "checkpoint with a smaller `hydro.cfl`";
inline constexpr const char* particles_hint =
    "look at the start and at the units of the configuration; where it went well for a while, go on from an earlier "
    "checkpoint with a smaller `cosmology.particle_cfl`";
inline constexpr const char* heating_hint =
    "look at the table of `heating.uv_background`, which ionises in 1/s and heats in erg/s, at the factors of "
    "`[heating]`, and at the units of the start";

/// Throws core::Error on all ranks when there is a `problem` on one. `moment`: "step 3, z = 4.1". Collective.
void require_sound(const comm::Communicator& comm, const std::string& problem, const std::string& moment,
                   const char* hint = gas_hint);

/// Throws core::Error on all ranks for a step that takes the time nowhere in a sound state. `limit`: what asks for it.
void refuse_step(const comm::Communicator& comm, double step, const std::string& limit, const std::string& moment);

}  // namespace sidestream::sims
