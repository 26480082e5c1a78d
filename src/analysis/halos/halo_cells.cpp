#include "analysis/halos/halo_cells.hpp"

namespace sidestream::analysis {

HaloRuns::HaloRuns(const comm::Communicator& comm, const MergeTree& tree, double t_boundary, double t_halo)
    : levels_(tree.field().size()) {
  const Components components(comm, tree, t_boundary);
  const double sign = tree.options().sets == Sets::above ? 1.0 : -1.0;
  constexpr std::int32_t none = -1;
  std::vector<std::int32_t> halo_of(static_cast<std::size_t>(components.size()), none);
  for (std::int32_t c = 0; c < components.size(); ++c) {
    const Peak& peak = components.peak(c);
    if (!(peak.height >= sign * t_halo)) continue;
    halo_of[static_cast<std::size_t>(c)] = size();
    peaks_.push_back({sign * peak.height, peak.cell, peak.rank});
  }
  for (int level = 0; level < static_cast<int>(levels_.size()); ++level) {
    Level& runs = levels_[static_cast<std::size_t>(level)];
    const int blocks = tree.field()[static_cast<std::size_t>(level)].blocks();
    runs.first.assign(static_cast<std::size_t>(blocks) + 1, 0);
    if (peaks_.empty()) continue;
    components.for_each_run(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t c) {
      const std::int32_t halo = halo_of[static_cast<std::size_t>(c)];
      if (halo == none) return;
      runs.entries.push_back({z, y, run.begin, run.end, halo});
      runs.first[static_cast<std::size_t>(block) + 1] = runs.entries.size();
    });
    for (std::size_t b = 1; b < runs.first.size(); ++b) runs.first[b] = std::max(runs.first[b], runs.first[b - 1]);
  }
}

}  // namespace sidestream::analysis
