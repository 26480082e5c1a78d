// What it costs a rank to plan the redistribution of chunks, on a machine with as many ranks as one likes: blocks of
// 16^3 cells that are owned, and that are needed with a rim, of which this process is one rank after another. Nothing
// travels; what the ranks gather from each other is there.
//
// Usage: bench_mapping [BLOCKS a side, 64] [RANKS, 4096]
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "redistribute/mapping/chunk_layouts.hpp"
#include "redistribute/planner.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/mesh/forest.hpp"

namespace {

using namespace sidestream;

constexpr std::int32_t block = 16;

/// The chunks of all ranks as they are gathered.
struct Gathered {
  std::vector<mesh::Box> owned, parts;
  std::vector<std::int64_t> owned_counts, part_counts;
  std::vector<std::vector<redistribute::ChunkPart>> parts_of_rank;
};

Gathered gathered(const redistribute::DataDescription& data, int ranks) {
  const mesh::Layout blocks = mesh::Forest(data.cells, block).layout(ranks);
  Gathered all;
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<mesh::Box> mine;
    for (const std::int32_t index : blocks.boxes_of(rank)) mine.push_back(blocks.box(index));
    all.parts_of_rank.push_back(parts_of(data, mine));
    for (const auto& part : all.parts_of_rank.back()) all.parts.push_back(part.box);
    all.owned.insert(all.owned.end(), mine.begin(), mine.end());
    all.owned_counts.push_back(static_cast<std::int64_t>(mine.size()));
    all.part_counts.push_back(static_cast<std::int64_t>(all.parts_of_rank.back().size()));
  }
  return all;
}

/// What one rank does with them.
struct Cost {
  double layouts_s = 0.0, checks_s = 0.0, plan_s = 0.0;
  std::size_t bytes = 0;
  double total_s() const { return layouts_s + checks_s + plan_s; }
};

Cost cost_of_rank(const redistribute::DataDescription& data, const Gathered& all, int rank) {
  Cost cost;
  core::Stopwatch watch;
  const mesh::Layout from = chunk_layout(data, all.owned, all.owned_counts),
                     to = chunk_layout(data, all.parts, all.part_counts);
  cost.layouts_s = watch.seconds();
  watch = {};
  redistribute::check_disjoint(from, rank);
  redistribute::check_covered(from, rank, all.parts_of_rank[static_cast<std::size_t>(rank)]);
  cost.checks_s = watch.seconds();
  watch = {};
  const redistribute::Tables tables = redistribute::plan_of_rank(from, to, {}, rank);
  cost.plan_s = watch.seconds();
  cost.bytes = from.size_bytes() + to.size_bytes() + tables.size_bytes();
  return cost;
}

}  // namespace

int main(int argc, char** argv) {
  const auto blocks = static_cast<std::int32_t>(argc > 1 ? std::atoi(argv[1]) : 64);
  const int ranks = argc > 2 ? std::atoi(argv[2]) : 4096, measured = 9;
  const std::int32_t cells = blocks * block;
  const redistribute::DataDescription data{
      .cells = {cells, cells, cells}, .periodic = {true, true, true}, .rim = {4, 4, 4}};
  const Gathered all = gathered(data, ranks);
  Cost worst;
  for (int n = 0; n < measured; ++n) {
    const Cost cost = cost_of_rank(data, all, n * (ranks - 1) / (measured - 1));
    if (cost.total_s() > worst.total_s()) worst = cost;
  }
  const double boxes = static_cast<double>(all.owned.size()) * 2;
  const nlohmann::json report = {{"benchmark", "mapping"},
                                 {"ranks", ranks},
                                 {"owned_boxes", all.owned.size()},
                                 {"needed_boxes", all.owned.size()},
                                 {"parts_of_needed_boxes", all.parts.size()},
                                 {"layouts_s", worst.layouts_s},
                                 {"checks_s", worst.checks_s},
                                 {"plan_s", worst.plan_s},
                                 {"seconds_a_rank", worst.total_s()},
                                 {"bytes_a_box", static_cast<double>(worst.bytes) / boxes},
                                 {"gathered_bytes_a_rank", 24.0 * (boxes / 2 + static_cast<double>(all.parts.size()))}};
  std::printf("%s\n", report.dump(2).c_str());
}
