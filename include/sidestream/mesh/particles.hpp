#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace sidestream::mesh {

/// A named number of each particle, beyond position and id.
struct ParticleAttribute {
  std::string name, unit;
  std::vector<double> values;
};

/// Particles of one rank as a structure of arrays. A particle lives on the rank that owns the cell it is in, except
/// between a drift and the migration that follows it. Positions are in the units of the geometry's `length`, in [0,
/// length).
struct Particles {
  std::vector<std::int64_t> id;
  std::array<std::vector<double>, 3> position;  ///< x, y, z
  std::vector<ParticleAttribute> attributes;
  double mass = 0.0;  ///< of each particle [Msun], when all are alike

  std::size_t size() const { return id.size(); }
  void resize(std::size_t count);
  /// The attribute `name`; throws core::Error naming those there are.
  std::vector<double>& attribute(const std::string& name);
  const std::vector<double>& attribute(const std::string& name) const;
};

/// Adds `from` to the end of `to`, which has the same attributes.
void append(const Particles& from, Particles& to);

/// Throws a core::Error unless all arrays are equally long.
void check(const Particles& particles);

}  // namespace sidestream::mesh
