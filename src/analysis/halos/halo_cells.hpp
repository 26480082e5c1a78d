#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/components/components.hpp"

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
    const Level& runs = levels_[static_cast<std::size_t>(level)];
    for (std::size_t block = 0; block + 1 < runs.first.size(); ++block)
      for (std::size_t r = runs.first[block]; r < runs.first[block + 1]; ++r) {
        const Entry& entry = runs.entries[r];
        f(static_cast<int>(block), entry.z, entry.y, Run{entry.begin, entry.end}, entry.halo);
      }
  }

  /// The halo that a cell belongs to, or -1. O(log runs of the block).
  std::int32_t halo_at(int level, std::int32_t block, mesh::Int3 cell) const {
    const Level& runs = levels_[static_cast<std::size_t>(level)];
    const auto b = static_cast<std::size_t>(block);
    const std::span<const Entry> entries(runs.entries.data() + runs.first[b], runs.first[b + 1] - runs.first[b]);
    const auto after = std::upper_bound(
        entries.begin(), entries.end(), std::tuple(cell.z, cell.y, cell.x),
        [](const auto& at, const Entry& entry) { return at < std::tuple(entry.z, entry.y, entry.begin); });
    if (after == entries.begin()) return -1;
    const Entry& entry = *(after - 1);
    return entry.z == cell.z && entry.y == cell.y && cell.x < entry.end ? entry.halo : -1;
  }

 private:
  struct Entry {
    std::int32_t z, y, begin, end, halo;
  };
  struct Level {
    std::vector<Entry> entries;
    std::vector<std::size_t> first;  // of each block, and the end
  };
  std::vector<Level> levels_;
  std::vector<HaloPeak> peaks_;
};

}  // namespace sidestream::analysis
