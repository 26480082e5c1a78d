// Statistics of turbulence: CPU time of each analysis of a random velocity.
// Usage: bench_turbulence_statistics [cells a side]
#include <nlohmann/json.hpp>

#include "forest.hpp"
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
        "analysis = 'structure_functions'", "analysis = 'structure_functions'\npdf_bins = 0"})
    report[task] = bench::time_of_task(comm, snapshot, task);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  bench::report_of_cube(argc, argv, "turbulence_statistics", measure);
}
