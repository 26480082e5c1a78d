#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "analysis/components.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// Consecutive leaf cells of a row along x that belong to a halo.
struct MemberRun {
  std::int64_t level = 0;
  std::int64_t cell = 0;  ///< the first of them: linear index (z, y, x order) in the domain of its level
  std::int64_t cells = 0;
  std::int64_t halo = 0;  ///< id

  friend bool operator==(const MemberRun&, const MemberRun&) = default;
};

struct MemberParticle {
  std::int64_t particle = 0, halo = 0;  ///< ids

  friend auto operator<=>(const MemberParticle&, const MemberParticle&) = default;
};

/// What halos consist of, the part of one rank: leaf cells, each once, and particles, each once. Halos that are sets of
/// particles have no cells.
struct HaloMembers {
  std::vector<MemberRun> runs;
  std::vector<MemberParticle> particles;
};

constexpr std::int64_t no_halo = -1;

/// The id of the halo that each part of `components` belongs to, or `no_halo`. `kept` are the ids of the halos whose
/// peaks this rank owns, ascending. Collective. Messages only between ranks that share components.
std::vector<std::int64_t> halos_of_parts(const comm::Communicator& comm, const Components& components,
                                         std::span<const std::int64_t> kept);

/// The members of iso-density halos: the cells of `components`, which are those of `field`, and the particles of
/// the snapshot that lie in them. `halo_of_part` is what `halos_of_parts` gives. A particle that is not on the rank of
/// its cell is sent there. Collective. Cost: the active cells, and a look-up for each particle.
HaloMembers members_of(const comm::Communicator& comm, const Components& components, const LeafField& field,
                       std::span<const std::int64_t> halo_of_part, const mesh::Snapshot& snapshot);

/// Adds members as columns of the distributed dimensions `member_run` and `member_particle`. Local.
void add_runs(mesh::Result& result, std::span<const MemberRun> runs);
void add_particles(mesh::Result& result, std::span<const MemberParticle> particles);

/// The members that a result of another moment holds, dealt to the ranks in any way; none where it has no such columns.
/// `root` is the domain of level 0. Local. Throws core::Error for columns that are not what `add_runs` and
/// `add_particles` write, and for runs that leave a row of the domain of their level.
HaloMembers members_from(const mesh::Result& result, const mesh::Box& root);

/// Leaf cells in halos of one level of one rank, by row.
class HaloCells {
 public:
  struct Entry {
    std::int32_t begin = 0, end = 0;  ///< x
    std::int64_t halo = 0;
  };

  /// Of `runs` those of `level`, which lie in blocks of `field` here.
  HaloCells(const mesh::Field<double>& field, int level, std::span<const MemberRun> runs);

  const mesh::Field<double>& field() const { return *field_; }
  /// The entries of the row (z, y) of a block that end behind `x`, by ascending x.
  std::span<const Entry> row_from(int block, std::int32_t z, std::int32_t y, std::int32_t x) const;
  /// The halo of a cell of a block, or `no_halo`.
  std::int64_t halo_at(int block, mesh::Int3 cell) const;

 private:
  std::size_t row_index(int block, std::int32_t z, std::int32_t y) const;

  const mesh::Field<double>* field_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> block_start_;  // index of the first row of each block, and the end
  std::vector<std::int32_t> row_start_;   // index of the first entry of each row, and the end
};

/// The number among the blocks of `rank` of the box `index` of a layout, which is one of them.
int block_of(const mesh::Layout& layout, int rank, std::int32_t index);

/// The cells of a run, and the cell of a linear index, in the domain of the level.
mesh::Box box_of(const MemberRun& run, const mesh::Box& domain);

}  // namespace sidestream::analysis
