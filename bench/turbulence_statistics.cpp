// Statistics of turbulence: CPU time of each analysis of a random velocity.
// Usage: bench_turbulence_statistics [cells a side]
#include <cstdio>
#include <nlohmann/json.hpp>

#include "forest.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/field.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

mesh::Snapshot random_flow(const mesh::Layout& layout, int rank) {
  mesh::Snapshot snapshot;
  snapshot.geometry = {layout.domain(), {1.0, 1.0, 1.0}};
  snapshot.levels = {layout};
  snapshot.rank = rank;
  for (int axis = 0; axis < 3; ++axis) {
    mesh::Field<double> velocity(layout, rank);
    for (int b = 0; b < velocity.blocks(); ++b)
      core::for_each_cell(velocity.box(b), [&, to = velocity.view(b)](int k, int j, int i) {
        const auto cell = static_cast<std::uint64_t>(linear_index(layout.domain(), {i, j, k}));
        to(k, j, i) = core::normal(1, static_cast<std::uint64_t>(axis), cell);
      });
    snapshot.add({std::string("velocity_") + "xyz"[axis], "1"}, std::move(velocity));
  }
  return snapshot;
}

json measure(const comm::Communicator& comm, int cells) {
  const mesh::Box domain = mesh::domain_of({cells, cells, cells});
  const mesh::Snapshot snapshot = random_flow(mesh::split(domain, {1, 1, comm.size()}), comm.rank());
  json report;
  for (const char* const task :
       {"analysis = 'turbulence'\nviscosity = 1.0", "analysis = 'turbulence'\nviscosity = 1.0\npdf_bins = 0",
        "analysis = 'structure_functions'", "analysis = 'structure_functions'\npdf_bins = 0"}) {
    const core::Node table = core::parse_toml(task, "task");
    report[task] = bench::microseconds_a_cell(comm, domain.volume(), [&] {
      analysis::analyses().chosen(table, "analysis").make(table, nullptr)->run(comm, snapshot);
    });
  }
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 128;
  json report = bench::header(world, "turbulence_statistics");
  report["cells"] = cells;
  report["us_a_cell"] = measure(world, cells);
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
