#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sidestream/mesh/particles.hpp"

namespace sidestream::analysis {

/// The values of an attribute, or null.
inline const double* values_of(const mesh::Particles& particles, const std::string& name) {
  for (const mesh::ParticleAttribute& attribute : particles.attributes)
    if (attribute.name == name) return attribute.values.data();
  return nullptr;
}

/// A particle of a halo.
struct LooseParticle {
  std::int64_t id = 0;
  std::array<double, 3> position{};  // in the domain
  std::array<double, 3> velocity{};
  double mass = 0.0;
};

/// The columns of particles that halos are made of. The particles must outlive this object.
class ParticleColumns {
 public:
  ParticleColumns(const mesh::Particles& particles, double scale_factor)
      : particles_(particles), mass_(values_of(particles, "mass")), fraction_(values_of(particles, "mass_fraction")) {
    if (take_velocities("velocity_", "") || take_velocities("", "vel")) return;  // of programs, of plot files
    take_velocities("momentum_", "");
    factor_ = 1.0 / scale_factor;  // as plot files are written
  }

  bool have_velocities() const { return velocity_[0] != nullptr && velocity_[1] != nullptr && velocity_[2] != nullptr; }
  std::size_t size() const { return particles_.size(); }
  std::array<double, 3> position(std::size_t i) const {
    return {particles_.position[0][i], particles_.position[1][i], particles_.position[2][i]};
  }
  LooseParticle particle(std::size_t i, const std::array<double, 3>& position) const {
    LooseParticle particle{particles_.id[i], position, {}, mass_ != nullptr ? mass_[i] : particles_.mass};
    if (fraction_ != nullptr) particle.mass *= fraction_[i];
    if (have_velocities())
      for (std::size_t a = 0; a < 3; ++a) particle.velocity[a] = factor_ * velocity_[a][i];
    return particle;
  }

 private:
  bool take_velocities(const std::string& before, const std::string& behind) {
    for (std::size_t a = 0; a < 3; ++a) velocity_[a] = values_of(particles_, before + "xyz"[a] + behind);
    return have_velocities();
  }

  const mesh::Particles& particles_;
  const double *mass_, *fraction_;
  std::array<const double*, 3> velocity_{};
  double factor_ = 1.0;
};

}  // namespace sidestream::analysis
