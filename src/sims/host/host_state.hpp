#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/sims/host_run.hpp"
#include "sims/host/host_checks.hpp"

namespace sidestream::sims {

/// The layouts of a host's blocks. Blocks that finer ones cover in part are cut, so that each piece is a leaf or is
/// covered as a whole; pieces lie in the memory of their blocks.
struct HostLevels {
  mesh::LevelLayouts layouts;
  /// Of each level, for each box of this rank: the number of the block that it is a piece of.
  std::vector<std::vector<std::size_t>> block_of;
};

/// Collective. Throws core::Error on all ranks.
HostLevels levels_of(const comm::Communicator& comm, const HostMesh& mesh);

/// Where a host's numbers lie, and what it says of its state.
class HostState {
 public:
  explicit HostState(const comm::Communicator& compute) : compute_(compute) {}

  void set_mesh(const HostMesh& mesh);
  void set_field(HostField field);
  void set_species(HostSpecies species);
  void set_number(const std::string& name, double value);
  /// From here on there are these fields, species and numbers of particles.
  void close_list();
  bool has_mesh() const { return !levels_.layouts.leaves.empty(); }
  const HostMesh& mesh() const { return mesh_; }
  const std::vector<HostField>& fields() const { return fields_; }
  const std::vector<HostSpecies>& species() const { return species_; }
  const mesh::LevelLayouts& layouts() const { return levels_.layouts; }

  mesh::Moment moment;
  double progress = 0.0;
  std::string stop_reason;  // of a program that cannot go on

  /// What all ranks have to say alike of what there is; its digest is kept from one step to the next.
  std::vector<Saying> sayings() const;
  std::vector<Saying> types() const;
  const Digest& digest() const;
  /// Throws core::Error where a universe has lengths in cm. Alike on all ranks.
  void require_known_convention() const;
  /// Throws core::Error where the mesh was said anew and fields were not, since then. Local, and alike on all ranks.
  void require_fields() const;

  mesh::Snapshot snapshot() const;
  /// Throws core::Error unless the mesh of a checkpoint has the same cells of each level. Local.
  void require_mesh_of(const mesh::Snapshot& state) const;
  /// The same, unless it has all that is state of the program.
  void require_fields_of(const mesh::Snapshot& state) const;
  /// Fills the memory of fields that are state; keeps the particles for the host to take.
  void take(const mesh::Snapshot& state);
  std::map<std::string, mesh::Particles> restored;

 private:
  mesh::BlockTable table_of(const HostField& field, int level) const;
  void add(const HostField& field, mesh::Snapshot& snapshot) const;
  mesh::Particles particles_of(const HostSpecies& species) const;
  std::size_t level_of(std::array<double, 3> place) const;
  mesh::Particles brought_to_owners(mesh::Particles particles) const;
  /// From the field `name` of a file.
  void fill(const HostField& field, const std::string& name, const mesh::Snapshot& state) const;

  const comm::Communicator& compute_;
  HostMesh mesh_;
  HostLevels levels_;
  std::vector<HostField> fields_;
  std::map<std::string, std::size_t> places_;  // of fields, by their names
  std::set<std::string> names_;                // of the fields that a run has begun with
  std::vector<HostSpecies> species_;
  bool is_closed_ = false;
  mutable std::optional<Digest> digest_;
};

}  // namespace sidestream::sims
