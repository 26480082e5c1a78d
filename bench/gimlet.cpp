// The suite `gimlet`: CPU time of each part of it.
// Usage: bench_gimlet [cells a side]
#include <cstdio>
#include <nlohmann/json.hpp>

#include "forest.hpp"
#include "sidestream/analysis/analysis.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

json measure(const comm::Communicator& comm, int cells) {
  const mesh::Box domain = mesh::domain_of({cells, cells, cells});
  const mesh::Layout layout = mesh::split(domain, {1, 1, comm.size()});
  const mesh::Snapshot snapshot = bench::forest(comm, layout);
  json report;
  double all = 0.0;
  for (const auto& [part, parameters] : analysis::suites().named("gimlet").parts) {
    const core::Node table = core::parse_toml(parameters, part);
    report[part] = bench::microseconds_a_cell(comm, domain.volume(), [&] {
      analysis::analyses().chosen(table, "analysis").make(table, nullptr)->run(comm, snapshot);
    });
    all += report[part]["median"].get<double>();
  }
  report["all"] = all;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 128;
  json report = bench::header(world, "gimlet");
  report["cells"] = cells;
  report["us_a_cell"] = measure(world, cells);
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
