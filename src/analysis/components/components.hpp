#pragma once

#include <cstdint>
#include <vector>

#include "analysis/merge_tree/tree_part.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::analysis {

/// The connected components of the leaf cells whose height reaches a threshold, over all levels, ranks and periodic
/// boundaries: a query of a merge tree. Each rank numbers the parts of components that it holds; the highest cell names
/// the whole.
class Components {
 public:
  /// `tree` must outlive this object; `threshold` is a value of its field, and not beyond its cut-off. Collective.
  Components(const comm::Communicator& comm, const MergeTree& tree, double threshold);

  /// Number of parts here.
  std::int32_t size() const { return static_cast<std::int32_t>(peaks_.size()); }
  /// The highest cell of the whole component that part `c` belongs to.
  const Peak& peak(std::int32_t c) const { return peaks_[static_cast<std::size_t>(c)]; }

  /// Calls `f(block, z, y, run, c)` for each run of cells of a component of a level here, in the order of blocks, z, y,
  /// x; `c` is its part.
  template <typename F>
  void for_each_run(int level, F f) const {
    const Runs& runs = part_.levels()[static_cast<std::size_t>(level)];
    for (int b = 0; b < runs.blocks(); ++b) {
      if (runs.top_of(b) < level_) continue;
      const auto view = runs.field().view(b);
      runs.for_each(b, [&](std::int32_t z, std::int32_t y, Run run, std::int32_t number) {
        if (runs.top(number) < level_) return;
        const double* const row = &view(z, y, 0);
        const std::int32_t first = runs.first_cell(number) - run.begin;
        for (std::int32_t x = run.begin; x < run.end;) {
          while (x < run.end && !(runs.height(row[x]) >= level_)) ++x;
          const std::int32_t begin = x;
          while (x < run.end && runs.height(row[x]) >= level_) ++x;
          if (begin < x) f(b, z, y, Run{begin, x}, component_of_cell(first + begin));
        }
      });
    }
  }

 private:
  std::int32_t component_of_cell(std::int32_t cell) const {
    const std::int32_t maximum = part_.maximum_of()[static_cast<std::size_t>(cell)];
    return component_of_[static_cast<std::size_t>(maximum)];
  }

  const TreePart& part_;
  double level_;
  std::vector<std::int32_t> component_of_;  // of each maximum here, -1 below the threshold
  std::vector<Peak> peaks_;                 // of each part
};

}  // namespace sidestream::analysis
