#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/halo_measures/halo_frame.hpp"
#include "analysis/halo_measures/halo_particles.hpp"
#include "analysis/halo_measures/halo_sums.hpp"
#include "analysis/halos/halo_cells.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// Where the cells are that one rank has of a halo. Offsets are counted from the lower corner of the peak.
struct HaloExtent {
  HaloPeak peak;
  std::int64_t cells = 0;
  std::int64_t volume = 0;               ///< in cells of the finest level
  std::array<core::Int128, 3> middle{};  ///< sum over the finest cells in it of twice the offset of their centres
  mesh::Int3 low, high;  ///< smallest offset of a cell and largest of its end, in cells of the finest level
  std::int64_t particles = 0;

  void add_box(std::int64_t its_volume, const mesh::Int3& its_low, const mesh::Int3& its_high);
  void add(const HaloExtent& other);
};

/// What one rank has of a halo, so that parts add up in any order. Masses of `matter` are in densities times cells of
/// level 0, those of `motion` and of the particles in Msun.
struct HaloPart {
  HaloExtent extent;
  MassSums matter;  ///< of the field
  MotionSums motion;
  core::CompactSum particle_mass;

  /// Of a halo with this peak, of which nothing is known yet.
  explicit HaloPart(const HaloPeak& peak = {});
  void add(const HaloPart& other);
};

/// Sends each part to the rank in whose list it is. Returns what each rank sent, in the same order. Collective.
std::vector<std::vector<HaloPart>> exchange_parts(const comm::Communicator& comm,
                                                  const std::vector<std::vector<const HaloPart*>>& outgoing);

/// What halos are made of, on this rank.
struct HaloContent {
  const HaloRuns& runs;
  const HaloFrame& frame;
  const HaloMeasures& measures;
  std::vector<HaloParticle> particles;
  bool particles_move = false;  ///< whether their velocities are known
};

/// The sums of each halo whose peak this rank owns, over the parts of all ranks. Collective. Throws core::Error on all
/// ranks for moving matter in a halo that is not finite.
std::vector<HaloPart> halo_parts(const comm::Communicator& comm, const HaloContent& content);

}  // namespace sidestream::analysis
