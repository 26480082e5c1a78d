#include "analysis/regions/region_sums.hpp"

#include <algorithm>

#include "analysis/at.hpp"
#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/compact_sum.hpp"

namespace sidestream::analysis {

namespace {

// What a rank has of a quantity in a region.
struct Part {
  core::CompactSum sum;
  double least = std::numeric_limits<double>::infinity(), most = -std::numeric_limits<double>::infinity();

  void add(double value, double volume) {
    sum.add(value * volume);
    take(value, value);
  }
  void take(double low, double high) {
    least = std::min(least, low);
    most = std::max(most, high);
  }
};

// On its way to the rank that owns the peak: the ends, and a portion of the sum.
struct PartMessage {
  std::int64_t peak = 0, quantity = 0;
  double least = 0.0, most = 0.0;
  core::SumPortion portion{};
};

std::vector<Part> own_parts(const HaloRuns& runs, const HaloFrame& frame, const LeafField& quantity) {
  std::vector<Part> parts(at(runs.size()));
  for (int level = 0; level < frame.levels(); ++level) {
    const double volume = frame.root_volume(level);
    runs.for_each(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t region) {
      const auto view = quantity[at(level)].view(block);
      for (std::int32_t x = run.begin; x < run.end; ++x) parts[at(region)].add(view(z, y, x), volume);
    });
  }
  return parts;
}

// A part without a sum travels too: for its ends.
void pack(const HaloPeak& peak, std::int64_t quantity, const Part& part, comm::ByRank<PartMessage>& outgoing) {
  PartMessage message{peak.cell, quantity, part.least, part.most, {}};
  bool is_packed = false;
  part.sum.for_each_portion([&](const core::SumPortion& portion) {
    message.portion = portion;
    outgoing[peak.rank].push_back(message);
    is_packed = true;
  });
  if (!is_packed) outgoing[peak.rank].push_back(message);
}

}  // namespace

std::vector<RegionSum> region_sums(const comm::Communicator& comm, const HaloRuns& runs, const HaloFrame& frame,
                                   std::span<const LeafField> quantities, std::span<const std::int64_t> own) {
  comm::ByRank<PartMessage> outgoing;
  for (std::size_t q = 0; q < quantities.size(); ++q) {
    const std::vector<Part> parts = own_parts(runs, frame, quantities[q]);
    for (std::int32_t region = 0; region < runs.size(); ++region)
      pack(runs.peak(region), static_cast<std::int64_t>(q), parts[at(region)], outgoing);
  }
  std::vector<Part> whole(quantities.size() * own.size());
  for (const auto& [rank, messages] : comm::deliver(comm, outgoing).incoming)
    for (const PartMessage& message : messages) {
      const auto region = static_cast<std::size_t>(std::ranges::lower_bound(own, message.peak) - own.begin());
      Part& part = whole[at(message.quantity) * own.size() + region];
      if (message.portion.high != 0 || message.portion.low != 0) part.sum.add(message.portion);
      part.take(message.least, message.most);
    }
  std::vector<RegionSum> sums;
  for (const Part& part : whole) sums.push_back({part.sum.value(), part.least, part.most});
  return sums;
}

}  // namespace sidestream::analysis
