#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::mesh {

/// A moment of a simulation, read-only: time, attributes, named scalar fields over one layout, particles. What an
/// analysis eats. Fields are computed on first use and then kept, so only what somebody asks for costs anything.
class Snapshot {
 public:
  using Provider = std::function<std::shared_ptr<const Field<double>>()>;

  std::int64_t step = 0;
  double time = 0.0;                         ///< in the simulation's unit of time
  std::map<std::string, double> attributes;  ///< scale_factor, redshift, omega_m, omega_b, hubble, box_mpc, ...
  Geometry geometry;
  Layout layout;                         ///< of all fields
  const Particles* particles = nullptr;  ///< of this rank, or null

  /// Adds a field of one component and no ghost cells on `layout`; `provide` is called at most once, by all ranks
  /// together.
  void add(std::string name, std::string unit, Provider provide);
  void add(std::string name, std::string unit, Field<double> field);

  bool has(const std::string& name) const { return fields_.contains(name); }
  std::vector<std::string> names() const;
  const std::string& unit(const std::string& name) const;
  /// Throws core::Error naming the fields there are.
  const Field<double>& field(const std::string& name) const;
  /// The value of an attribute; throws core::Error naming those there are.
  double attribute(const std::string& name) const;

 private:
  struct Entry {
    std::string unit;
    Provider provide;
    mutable std::shared_ptr<const Field<double>> field;
  };
  const Entry& entry(const std::string& name) const;
  std::map<std::string, Entry> fields_;
};

}  // namespace sidestream::mesh
