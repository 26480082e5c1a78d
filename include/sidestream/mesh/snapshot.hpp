#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/core/view.hpp"
#include "sidestream/mesh/any_field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/moment.hpp"
#include "sidestream/mesh/particles.hpp"

namespace sidestream::mesh {

/// The state of a simulation at a moment, read-only: named scalar fields, particles. What an analysis eats. Fields
/// live on one layout a level of refinement: the leaves, which together tile the domain, each cell of it once. On a
/// uniform grid there is one level. A field is a view of cells that lie in memory, or is computed on first use and then
/// kept, so only what somebody asks for costs anything.
class Snapshot {
 public:
  /// Gives the cells of a level, of one component, real numbers of any type, on `levels[level]`: called at most once
  /// for each level, by all ranks together.
  using Provider = std::function<AnyField(int level)>;
  /// Fills the cells of `box`, one of this rank's of `levels[level]`. Local.
  using Kernel = std::function<void(int level, const Box& box, const core::View4<double>& out)>;
  /// Gives the particles of this rank: called at most once, by all ranks together.
  using ParticleProvider = std::function<const Particles*()>;

  Moment moment;
  Geometry geometry;           ///< of level 0
  std::vector<Layout> levels;  ///< the leaves of each level, coarsest first; a level may be empty of boxes
  int rank = 0;                ///< the owner in `levels` that this process is

  int finest_level() const { return static_cast<int>(levels.size()) - 1; }
  bool is_refined() const { return levels.size() > 1; }

  void add(std::string name, std::string unit, Provider provide);
  /// Adds a field of which all levels are at hand, coarsest first.
  void add(std::string name, std::string unit, std::vector<Field<double>> fields);
  void add(std::string name, std::string unit, Field<double> field);
  void add_computed(std::string name, std::string unit, Kernel fill);

  /// They outlive the snapshot.
  void set_particles(const Particles* particles) { particles_ = particles; }
  void set_particles(ParticleProvider provide) { provide_particles_ = std::move(provide); }
  /// Of this rank, each in a leaf of its own; null where there are none. All ranks ask together the first time.
  const Particles* particles() const;

  bool has(const std::string& name) const { return fields_.contains(name); }
  std::vector<std::string> names() const;
  const std::string& unit(const std::string& name) const;
  /// Throws core::Error naming the fields there are. What is not at hand as doubles is made and kept. The view lives as
  /// long as the snapshot, and as what it was made of.
  FieldView<const double> field(const std::string& name, int level = 0) const;
  /// Makes what all ranks have to make together, so that `write` is local.
  void prepare(const std::string& name) const;
  /// Writes the cells of `box`, one of this rank's of `levels[level]`, to `out` without keeping them; local after
  /// `prepare`.
  void write(const std::string& name, int level, const Box& box, const core::View4<double>& out) const;

 private:
  struct Entry {
    std::string unit;
    Provider provide;
    Kernel fill;
    mutable std::vector<AnyField> levels;
  };
  const Entry& entry(const std::string& name) const;
  Field<double> filled(const Entry& entry, int level) const;
  AnyField& at_hand(const Entry& entry, int level) const;
  std::map<std::string, Entry> fields_;
  mutable const Particles* particles_ = nullptr;
  mutable ParticleProvider provide_particles_;
};

}  // namespace sidestream::mesh
