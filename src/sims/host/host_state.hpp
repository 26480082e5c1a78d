#pragma once

#include <map>
#include <string>
#include <vector>

#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/mesh/snapshot.hpp"
#include "sidestream/sims/host_run.hpp"

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
  bool has_mesh() const { return !levels_.layouts.leaves.empty(); }
  const HostMesh& mesh() const { return mesh_; }
  const std::vector<HostField>& fields() const { return fields_; }
  const std::vector<HostSpecies>& species() const { return species_; }
  const mesh::LevelLayouts& layouts() const { return levels_.layouts; }

  mesh::Moment moment;
  double progress = 0.0;

  mesh::Snapshot snapshot() const;
  /// Fills the memory of fields that are state; keeps the particles for the host to take.
  void take(const mesh::Snapshot& state);
  std::map<std::string, mesh::Particles> restored;

 private:
  mesh::BlockTable table_of(const HostField& field, int level) const;
  void add(const HostField& field, mesh::Snapshot& snapshot) const;
  mesh::Particles particles_of(const HostSpecies& species) const;
  void fill(const HostField& field, const mesh::Snapshot& state) const;

  const comm::Communicator& compute_;
  HostMesh mesh_;
  HostLevels levels_;
  std::vector<HostField> fields_;
  std::vector<HostSpecies> species_;
};

}  // namespace sidestream::sims
