#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "analysis/halo_frame.hpp"
#include "analysis/halo_particles.hpp"
#include "analysis/halo_runs.hpp"
#include "analysis/halo_sums.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// What one rank has of a halo, in integers, so that parts add up in any order. Offsets are counted from the lower
/// corner of the peak. Masses of `matter` are in densities times cells of level 0, those of `motion` in Msun.
struct HaloPart {
  HaloPeak peak;
  std::int64_t cells = 0;
  std::int64_t volume = 0;         ///< in cells of the finest level
  std::array<Int128, 3> middle{};  ///< sum over the finest cells in it of twice the offset of their centres
  mesh::Int3 low, high;            ///< smallest offset of a cell and largest of its end, in cells of the finest level
  MassSums matter;                 ///< of the field
  MotionSums motion;
  std::int64_t particles = 0;
  Int128 particle_mass = 0;  ///< in the unit of mass of motion

  void add(const HaloPart& other);
};

struct HaloUnits {
  SumUnits matter, motion;
};

/// What halos are made of, on this rank.
struct HaloContent {
  const HaloRuns& runs;
  const HaloFrame& frame;
  const HaloMeasures& measures;
  std::vector<HaloParticle> particles;
  bool particles_move = false;  ///< whether their velocities are known
};

/// Units that suit all halos of all ranks. Collective. Throws core::Error on all ranks for moving matter in a halo that
/// is not finite.
HaloUnits units_of(const comm::Communicator& comm, const HaloContent& content);

/// The sums of each halo whose peak this rank owns, over the parts of all ranks. Collective.
std::vector<HaloPart> halo_parts(const comm::Communicator& comm, const HaloContent& content, const HaloUnits& units);

}  // namespace sidestream::analysis
