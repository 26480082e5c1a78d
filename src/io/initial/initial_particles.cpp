#include "io/initial/initial_particles.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/io/initial_file.hpp"

namespace sidestream::io {

mesh::Particles empty_initial_particles(std::size_t count, bool is_gas) {
  mesh::Particles particles;
  for (const std::string& name : initial_velocity_names) particles.attributes.push_back({name, "km/s", {}});
  particles.attributes.push_back({initial_mass_name, "Msun", {}});
  if (is_gas) particles.attributes.push_back({initial_energy_name, "(km/s)^2", {}});
  particles.resize(count);
  return particles;
}

namespace {

void check_finite(const mesh::Particles& particles, const std::vector<double>& values, const std::string& name,
                  const std::string& path) {
  for (std::size_t n = 0; n < values.size(); ++n)
    if (!std::isfinite(values[n]))
      throw core::Error(fmt::format("{} of the particle with id {} is {}", name, particles.id[n], values[n]), path,
                        "the file is damaged, or was not written completely");
}

}  // namespace

void check_initial_particles(const mesh::Particles& particles, const std::string& path) {
  for (std::size_t axis = 0; axis < 3; ++axis)
    check_finite(particles, particles.position[axis], std::string(1, "xyz"[axis]), path);
  for (const mesh::ParticleAttribute& attribute : particles.attributes)
    check_finite(particles, attribute.values, attribute.name, path);
  for (const std::string& name : {initial_mass_name, initial_energy_name})
    for (const mesh::ParticleAttribute& attribute : particles.attributes) {
      if (attribute.name != name) continue;
      for (std::size_t n = 0; n < attribute.values.size(); ++n)
        if (attribute.values[n] < 0.0 || (name == initial_mass_name && attribute.values[n] == 0.0))
          throw core::Error(
              fmt::format("{} of the particle with id {} is {}", name, particles.id[n], attribute.values[n]), path,
              "masses are above zero, internal energies not below");
    }
}

}  // namespace sidestream::io
