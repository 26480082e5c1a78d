// The suite `gimlet`: CPU time of each part of it.
// Usage: bench_gimlet [cells a side]
#include <nlohmann/json.hpp>

#include "forest.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

json measure(const comm::Communicator& comm, int cells) {
  const mesh::Layout layout = mesh::split(mesh::domain_of({cells, cells, cells}), {1, 1, comm.size()});
  const mesh::Snapshot snapshot = bench::forest(comm, layout);
  json report;
  double all = 0.0;
  for (const auto& [part, parameters] : analysis::suites().named("gimlet").parts) {
    report[part] = bench::time_of_task(comm, snapshot, parameters);
    all += report[part]["median"].get<double>();
  }
  report["all"] = all;
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  bench::report_of_cube(argc, argv, "gimlet", measure);
}
