#include "analysis/components/components.hpp"

#include <algorithm>

#include "analysis/merge_tree/merge_tree_impl.hpp"
#include "analysis/merge_tree/representatives.hpp"

namespace sidestream::analysis {

Components::Components(const comm::Communicator& comm, const MergeTree& tree, double threshold)
    : part_(tree.impl_->part), level_(tree.impl_->level_of(threshold)) {
  const std::vector<Peak> found = representatives(comm, part_, level_);
  for (const Peak& peak : found)
    if (peak.rank >= 0) peaks_.push_back(peak);
  const auto by_cell = [](const Peak& a, const Peak& b) { return a.cell < b.cell; };
  std::sort(peaks_.begin(), peaks_.end(), by_cell);
  peaks_.erase(std::unique(peaks_.begin(), peaks_.end()), peaks_.end());
  component_of_.reserve(found.size());
  for (const Peak& peak : found)
    component_of_.push_back(peak.rank < 0
                                ? -1
                                : static_cast<std::int32_t>(
                                      std::lower_bound(peaks_.begin(), peaks_.end(), peak, by_cell) - peaks_.begin()));
}

}  // namespace sidestream::analysis
