#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/components.hpp"

namespace sidestream::analysis {

/// The highest cell of a halo and the rank that owns it.
struct HaloPeak {
  double value = 0.0;
  std::int64_t cell = 0;  ///< linear index in the domain of the finest level, of its lowest corner
  std::int32_t rank = 0;
};

/// The cells of halos that one rank holds, as runs along x: of the components whose highest cell reaches `t_halo`. The
/// rank numbers the halos that it has cells of.
class HaloRuns {
 public:
  /// Collective. The field of the tree, and not the tree, must outlive the runs.
  HaloRuns(const comm::Communicator& comm, const MergeTree& tree, double t_boundary, double t_halo);

  /// Number of halos with cells here.
  std::int32_t size() const { return static_cast<std::int32_t>(peaks_.size()); }
  const HaloPeak& peak(std::int32_t halo) const { return peaks_[static_cast<std::size_t>(halo)]; }

  /// Calls `f(block, z, y, run, halo)` for each run of a level, in the order of blocks, z, y, x.
  template <typename F>
  void for_each(int level, F f) const {
    for (const Entry& entry : levels_[static_cast<std::size_t>(level)])
      f(entry.block, entry.z, entry.y, Run{entry.begin, entry.end}, entry.halo);
  }

  /// The halo that a cell belongs to, or -1. O(log runs).
  std::int32_t halo_at(int level, std::int32_t block, std::int32_t z, std::int32_t y, std::int32_t x) const {
    const std::vector<Entry>& runs = levels_[static_cast<std::size_t>(level)];
    const auto after = std::upper_bound(runs.begin(), runs.end(), std::tuple(block, z, y, x),
                                        [](const auto& cell, const Entry& entry) {
                                          return cell < std::tuple(entry.block, entry.z, entry.y, entry.begin);
                                        });
    if (after == runs.begin()) return -1;
    const Entry& entry = *(after - 1);
    const bool holds = entry.block == block && entry.z == z && entry.y == y && x < entry.end;
    return holds ? entry.halo : -1;
  }

 private:
  struct Entry {
    std::int32_t block, z, y, begin, end, halo;
  };
  std::vector<std::vector<Entry>> levels_;
  std::vector<HaloPeak> peaks_;
};

}  // namespace sidestream::analysis
