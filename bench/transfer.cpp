#include <nlohmann/json.hpp>
// Transfer of a field from one group of ranks to another (lower half to upper half; alone, from rows to blocks within
// the rank) by each strategy, against a plain copy of the same bytes; and the migration of particles.
//
// Usage: bench_transfer [CELLS a side, 128]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "exchange_times.hpp"
#include "report.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/redistribute/migration.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace {

using namespace sidestream;
using bench::repeats, bench::summary, bench::times, bench::Times;

constexpr int components = 4, ghost = 4;

// Blocks of 32^3 on the first ranks, with ghost cells as in a solver; a slab of z for each of the last ranks.
struct Groups {
  mesh::Layout senders, receivers;
};
Groups groups(std::int32_t cells, int ranks) {
  const int senders = std::max(1, ranks / 2), receivers = std::max(1, ranks - senders);
  std::vector<std::int32_t> last(static_cast<std::size_t>(receivers));
  for (int r = 0; r < receivers; ++r) last[static_cast<std::size_t>(r)] = ranks - receivers + r;
  return {mesh::Forest({cells, cells, cells}, std::min(32, cells)).layout(senders),
          split(mesh::domain_of({cells, cells, cells}), {1, 1, receivers}).renumbered(last)};
}

// Particles spread evenly, of which one in twenty has drifted by a cell along x.
mesh::Particles drifted(const comm::Communicator& comm, const mesh::Layout& layout, const mesh::Geometry& geometry) {
  mesh::Particles particles;
  for (const char* name : {"velocity_x", "velocity_y", "velocity_z"})
    particles.attributes.push_back({name, "km/s", {}});
  const auto own = layout.boxes_of(comm.rank());
  for (const auto index : own) {
    const mesh::Box& box = layout.box(index);
    for (std::int64_t n = 0; n < box.volume(); ++n) {
      const auto id = static_cast<std::uint64_t>(linear_index(layout.domain(), box.lo) * 64 + n);
      particles.id.push_back(static_cast<std::int64_t>(id));
      for (int axis = 0; axis < 3; ++axis)
        particles.position[static_cast<std::size_t>(axis)].push_back(
            geometry.cell_size(axis) *
            (box.lo[axis] + box.extent()[axis] * core::uniform(1, static_cast<std::uint64_t>(axis), id)));
    }
  }
  particles.resize(particles.id.size());
  for (std::size_t p = 0; p < particles.size(); p += 20) particles.position[0][p] += geometry.cell_size(0);
  return particles;
}

nlohmann::json migration(const comm::Communicator& comm, std::int32_t cells) {
  const auto layout = mesh::Forest({cells, cells, cells}, std::min(32, cells)).layout(comm.size());
  const mesh::Geometry geometry{layout.domain(), {14.2, 14.2, 14.2}};
  auto particles = drifted(comm, layout, geometry);
  const double count = bench::total(comm, static_cast<double>(particles.size()));
  Times all;
  for (int n = 0; n < repeats; ++n) {
    for (std::size_t p = static_cast<std::size_t>(n) % 20; p < particles.size(); p += 20)
      particles.position[0][p] += geometry.cell_size(0);
    comm.barrier();
    const core::Stopwatch watch;
    const double before = bench::cpu_seconds();
    redistribute::migrate(comm, layout, geometry, particles);
    all.cpu_s.push_back(bench::total(comm, bench::cpu_seconds() - before));
    all.wall_s.push_back(comm.max(watch.seconds()));
  }
  return {{"particles", count},
          {"wall_s", bench::spread(all.wall_s)},
          {"particles_per_s", count / all.best()},
          {"cpu_ns_a_particle", 1e9 * all.best_cpu() / count}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::int32_t cells = argc > 1 ? std::atoi(argv[1]) : 128;
  const auto [senders, receivers] = groups(cells, comm.size());
  mesh::Field<double> from(senders, comm.rank(), components, ghost), to(receivers, comm.rank(), components);
  std::fill(from.all().begin(), from.all().end(), 1.0);

  // The receivers copy what they would receive, all at once, while the senders rest.
  const std::vector<double> source(to.all().size(), 1.0);
  const auto copy = times(comm, [&] { std::memcpy(to.all().data(), source.data(), to.all().size_bytes()); });
  const double bytes = bench::total(comm, static_cast<double>(to.all().size_bytes()));

  auto report = bench::header(comm, "transfer");
  report["cells"] = cells;
  report["bytes"] = bytes;
  report["memory_copy"] = summary(copy, copy, bytes);
  for (const redistribute::StrategyEntry& entry : redistribute::strategies()) {
    if (entry.make == nullptr) continue;
    const redistribute::Redistribution plan(comm, senders, receivers, entry.strategy);
    report["strategies"][entry.name] = summary(times(comm, [&] { plan.apply(from, to); }), copy, bytes);
  }
  report["migration"] = migration(comm, cells);
  if (comm.rank() == 0) std::puts(report.dump(2).c_str());
}
