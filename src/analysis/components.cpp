#include "analysis/components.hpp"

#include <limits>

namespace sidestream::analysis {

Components::Components(const comm::Communicator& comm, const mesh::Field<double>& field, double threshold,
                       Connectivity connectivity)
    : runs_(field, threshold) {
  UnionFind sets(runs_.size());
  unite_within_blocks(runs_, connectivity, sets);
  unite_across_blocks(runs_, connectivity, sets);
  std::int32_t count = 0;
  part_of_ = sets.take_numbers(count);
  find_peaks(comm.rank(), count);
  if (comm.size() > 1) spread_peaks(comm, cross_edges(comm, runs_, connectivity, part_of_), peaks_);
}

void Components::find_peaks(int rank, std::int32_t count) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  peaks_.assign(static_cast<std::size_t>(count), Peak{lowest, std::numeric_limits<std::int64_t>::max(), rank, 0});
  for (std::int32_t c = 0; c < count; ++c) peaks_[static_cast<std::size_t>(c)].component = c;
  const mesh::Box& domain = runs_.field().layout().domain();
  for_each_run([&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t c) {
    const double* row = &runs_.field().view(block)(z, y, 0);
    const std::int64_t row_cell = linear_index(domain, {0, y, z});
    Peak& peak = peaks_[static_cast<std::size_t>(c)];
    for (std::int32_t x = run.begin; x < run.end; ++x) {
      const std::int64_t cell = row_cell + x;
      if (row[x] > peak.value || (row[x] == peak.value && cell < peak.cell)) {
        peak.value = row[x];
        peak.cell = cell;
      }
    }
  });
}

}  // namespace sidestream::analysis
