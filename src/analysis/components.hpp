#pragma once

#include <cstdint>
#include <vector>

#include "analysis/labels.hpp"
#include "analysis/runs.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// The connected components of the leaf cells where a field is at or above a threshold, over all levels, ranks and
/// periodic boundaries. Each rank numbers the parts of components that it holds; the highest cell names the whole.
class Components {
 public:
  /// Collective. The levels of `field` must outlive this object. Memory and cost beyond one pass over the field follow
  /// the active cells. Throws core::Error when the finest level has more cells than 64 bits can count.
  Components(const comm::Communicator& comm, const LeafField& field, double threshold, Connectivity connectivity);

  /// Number of parts here.
  std::int32_t size() const { return static_cast<std::int32_t>(peaks_.size()); }
  /// The highest cell of the whole component that part `c` belongs to.
  const Peak& peak(std::int32_t c) const { return peaks_[static_cast<std::size_t>(c)]; }

  /// Calls `f(block, z, y, run, c)` for each run of active cells of a level here, in the order of blocks, z, y, x; `c`
  /// is its part.
  template <typename F>
  void for_each_run(int level, F f) const {
    const Runs& runs = levels_[static_cast<std::size_t>(level)];
    for (int b = 0; b < runs.blocks(); ++b)
      runs.for_each_in(b, runs.box(b), [&](std::int32_t z, std::int32_t y, Run run, std::int32_t number) {
        f(b, z, y, run, part_of_[static_cast<std::size_t>(number)]);
      });
  }

 private:
  void find_peaks(int rank, std::int32_t count);
  void raise_peaks(int level);

  std::vector<Runs> levels_;
  std::vector<std::int32_t> part_of_;  // of each run
  std::vector<Peak> peaks_;            // of each part
};

}  // namespace sidestream::analysis
