#include <nlohmann/json.hpp>
// Ghost exchange of a gas field (6 components, 4 ghost cells) by each strategy, against a plain copy of as many bytes
// by the same ranks at the same time; and the planning of an exchange among a quarter of a million boxes.
//
// Usage: bench_ghost_exchange [CELLS a side, 128] [CELLS a block side, 32]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exchange_times.hpp"
#include "redistribute/planner.hpp"
#include "report.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace {

using namespace sidestream;
using bench::summary, bench::times, bench::Times;

constexpr int components = 6, ghost = 4;

std::size_t ghost_bytes(const mesh::Field<double>& field) {
  std::int64_t cells = 0;
  for (int b = 0; b < field.blocks(); ++b) cells += field.box(b).grown(ghost).volume() - field.box(b).volume();
  return static_cast<std::size_t>(cells) * components * sizeof(double);
}

nlohmann::json planning() {
  const core::Stopwatch layout_watch;
  const auto layout = mesh::Forest({1024, 1024, 1024}, 16).layout(2048);
  const double layout_s = layout_watch.seconds();
  const core::Stopwatch plan_watch;
  const auto tables = redistribute::plan_of_rank(layout, layout, {.destination_ghost = ghost, .skip_own = true}, 1000);
  const double plan_s = plan_watch.seconds();
  const core::Stopwatch all_watch;
  const auto serial = mesh::Forest({1024, 1024, 1024}, 16).layout(1);
  redistribute::plan_of_rank(serial, serial, {.destination_ghost = ghost, .skip_own = true}, 0);
  return {{"boxes", layout.size()},
          {"ranks", 2048},
          {"layout_s", layout_s},
          {"plan_s", plan_s},
          {"bytes_a_box", static_cast<double>(layout.size_bytes() + tables.size_bytes()) / layout.size()},
          {"one_rank_owns_all_s", all_watch.seconds()}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  const auto argument = [&](int n, int otherwise) { return argc > n ? std::atoi(argv[n]) : otherwise; };
  const std::int32_t cells = argument(1, 128), block = argument(2, 32);
  const auto layout = mesh::Forest({cells, cells, cells}, block).layout(comm.size());
  mesh::Field<double> field(layout, comm.rank(), components, ghost);
  std::fill(field.all().begin(), field.all().end(), 1.0);

  const std::size_t bytes = ghost_bytes(field);
  std::vector<double> from(bytes / sizeof(double), 1.0), to(from.size());
  const auto copy = times(comm, [&] { std::memcpy(to.data(), from.data(), bytes); });
  const double all_bytes = bench::total(comm, static_cast<double>(bytes));

  auto report = bench::header(comm, "ghost_exchange");
  report["cells"] = cells;
  report["block"] = block;
  report["bytes"] = all_bytes;
  report["memory_copy"] = summary(copy, copy, all_bytes);
  for (const redistribute::StrategyEntry& entry : redistribute::strategies()) {
    if (entry.make == nullptr) continue;
    const redistribute::GhostFill plan(comm, layout, ghost, entry.strategy);
    report["strategies"][entry.name] = summary(times(comm, [&] { plan.fill(field); }), copy, all_bytes);
  }
  if (comm.rank() == 0) {
    report["planning"] = planning();
    std::puts(report.dump(2).c_str());
  }
}
