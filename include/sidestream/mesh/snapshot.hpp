#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/moment.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::mesh {

/// The state of a simulation at a moment, read-only: named scalar fields, particles. What an analysis eats. Fields
/// live on one layout a level of refinement: the leaves, which together tile the domain, each cell of it once. On a
/// uniform grid there is one level. Fields are computed on first use and then kept, so only what somebody asks for
/// costs anything.
class Snapshot {
 public:
  using Provider = std::function<std::shared_ptr<const Field<double>>(int level)>;

  Moment moment;
  Geometry geometry;                     ///< of level 0
  std::vector<Layout> levels;            ///< the leaves of each level, coarsest first; a level may be empty of boxes
  const Particles* particles = nullptr;  ///< of this rank, or null

  int finest_level() const { return static_cast<int>(levels.size()) - 1; }
  bool is_refined() const { return levels.size() > 1; }

  /// Adds a field of one component and no ghost cells; `provide(level)`, on `levels[level]`, is called at most once for
  /// each level, by all ranks together.
  void add(std::string name, std::string unit, Provider provide);
  /// Adds a field of which all levels are at hand, coarsest first.
  void add(std::string name, std::string unit, std::vector<Field<double>> fields);
  void add(std::string name, std::string unit, Field<double> field);

  bool has(const std::string& name) const { return fields_.contains(name); }
  std::vector<std::string> names() const;
  const std::string& unit(const std::string& name) const;
  /// Throws core::Error naming the fields there are.
  const Field<double>& field(const std::string& name, int level = 0) const;

 private:
  struct Entry {
    std::string unit;
    Provider provide;
    mutable std::vector<std::shared_ptr<const Field<double>>> levels;
  };
  const Entry& entry(const std::string& name) const;
  std::map<std::string, Entry> fields_;
};

}  // namespace sidestream::mesh
