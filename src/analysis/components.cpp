#include "analysis/components.hpp"

#include <limits>

#include "analysis/levels.hpp"

namespace sidestream::analysis {

namespace {

void require_countable(const mesh::Box& finest_domain) {
  const mesh::Int3 cells = finest_domain.extent();
  const double count = static_cast<double>(cells.x) * cells.y * cells.z;
  core::require(count < 0x1p63, "the finest level has more cells than 64 bits can count, so they cannot name halos");
}

}  // namespace

Components::Components(const comm::Communicator& comm, const LeafField& field, double threshold,
                       Connectivity connectivity) {
  require_countable(field.back()->layout().domain());
  for (const SharedField& level : field)
    levels_.emplace_back(*level, threshold, levels_.empty() ? 0 : levels_.back().end());
  UnionFind sets(static_cast<std::size_t>(levels_.back().end()));
  for (const Runs& runs : levels_) unite_within_blocks(runs, connectivity, sets);
  unite_across_blocks(levels_, connectivity, sets);
  std::int32_t count = 0;
  part_of_ = sets.take_numbers(count);
  find_peaks(comm.rank(), count);
  if (comm.size() > 1) spread_peaks(comm, cross_edges(comm, levels_, connectivity, part_of_), peaks_);
}

void Components::find_peaks(int rank, std::int32_t count) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  peaks_.assign(static_cast<std::size_t>(count), Peak{lowest, std::numeric_limits<std::int64_t>::max(), rank, 0});
  for (std::int32_t c = 0; c < count; ++c) peaks_[static_cast<std::size_t>(c)].component = c;
  for (int level = 0; level < static_cast<int>(levels_.size()); ++level) raise_peaks(level);
}

void Components::raise_peaks(int level) {
  const mesh::Field<double>& field = levels_[static_cast<std::size_t>(level)].field();
  const mesh::Box& domain = levels_.back().field().layout().domain();
  const mesh::Int3 bits = bits_between(domain, static_cast<int>(levels_.size()) - 1 - level);
  for_each_run(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t c) {
    const double* row = &field.view(block)(z, y, 0);
    const std::int64_t row_cell = linear_index(domain, refined(mesh::Int3{0, y, z}, bits));
    Peak& peak = peaks_[static_cast<std::size_t>(c)];
    for (std::int32_t x = run.begin; x < run.end; ++x) {
      const std::int64_t cell = row_cell + (x << bits.x);
      if (row[x] > peak.value || (row[x] == peak.value && cell < peak.cell)) {
        peak.value = row[x];
        peak.cell = cell;
      }
    }
  });
}

}  // namespace sidestream::analysis
