#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "analysis/halo_measures/halo_frame.hpp"
#include "analysis/halo_measures/halo_particles.hpp"
#include "analysis/halos/halo_cells.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// Consecutive leaf cells of a row along x that belong to a halo or region.
struct MemberRun {
  std::int64_t level = 0;
  std::int64_t cell = 0;  ///< the first of them: linear index (z, y, x order) in the domain of its level
  std::int64_t cells = 0;
  std::int64_t of = 0;  ///< the id of what they belong to

  friend bool operator==(const MemberRun&, const MemberRun&) = default;
};

struct MemberParticle {
  std::int64_t particle = 0;  ///< its id
  std::int64_t of = 0;        ///< that of what it belongs to

  friend auto operator<=>(const MemberParticle&, const MemberParticle&) = default;
};

/// What halos or regions consist of, the part of one rank: leaf cells, each once, and particles, each once. Halos that
/// are sets of particles have no cells.
struct Members {
  std::vector<MemberRun> runs;
  std::vector<MemberParticle> particles;
};

/// The members that this rank has of iso-density halos: their cells, `runs` on the levels of `frame`, and `particles`.
/// `kept` are the ids of the halos whose peaks this rank owns, ascending; of others there are no members. Collective.
/// Messages only between ranks that hold parts of one halo.
Members members_of(const comm::Communicator& comm, const HaloRuns& runs, const HaloFrame& frame,
                   std::span<const std::int64_t> kept, std::span<const HaloParticle> particles);

/// Adds the members of all ranks as columns of the distributed dimensions `member_run` and `member_particle`: rows by
/// ascending id of the whole and then level and cell, or particle, runs as long as they can be, so that the tables are
/// the same for any ranks and blocks. `noun` is what the wholes are called, such as "halo"; `root` the domain of level
/// 0. Collective.
void add_runs(const comm::Communicator& comm, const std::string& noun, const mesh::Box& root,
              const std::vector<MemberRun>& members, mesh::Result& result);
void add_particles(const comm::Communicator& comm, const std::string& noun, const std::vector<MemberParticle>& members,
                   mesh::Result& result);

/// The members that a result of another moment holds, dealt to the ranks in any way; none where it has no such columns.
/// `root` is the domain of level 0. Local. Throws core::Error for columns that are not what `add_runs` and
/// `add_particles` write, and for runs that leave a row of the domain of their level.
Members members_from(const mesh::Result& result, const std::string& noun, const mesh::Box& root);

/// Leaf cells in halos or regions of one level of one rank, by row.
class MemberCells {
 public:
  struct Entry {
    std::int32_t begin = 0, end = 0;  ///< x
    std::int64_t of = 0;
  };

  /// Of `runs` those of `level`, which lie in blocks of `field` here.
  MemberCells(const ScalarView& field, int level, std::span<const MemberRun> runs);

  const ScalarView& field() const { return field_; }
  /// The entries of the row (z, y) of a block that end behind `x`, by ascending x.
  std::span<const Entry> row_from(int block, std::int32_t z, std::int32_t y, std::int32_t x) const;

 private:
  std::size_t row_index(int block, std::int32_t z, std::int32_t y) const;

  ScalarView field_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> block_start_;  // index of the first row of each block, and the end
  std::vector<std::int32_t> row_start_;   // index of the first entry of each row, and the end
};

/// The number among the blocks of `rank` of the box `index` of a layout, which is one of them.
int block_of(const mesh::Layout& layout, int rank, std::int32_t index);

/// The cells of a run, in the domain of its level.
mesh::Box box_of(const MemberRun& run, const mesh::Box& domain);

}  // namespace sidestream::analysis
