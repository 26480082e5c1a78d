// The suite `gimlet` beside a step of the simulation that it analyses, from a checkpoint of a run on. CPU time (user
// and system, of all ranks) a cell of the box and page faults of a step, and of each part of the suite on the snapshot
// after it. What the parts share is counted with the one that asks for it first, and memory as it is found in a run.
//
//     bench_suite_and_step CONFIG CHECKPOINT [STEPS]
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report.hpp"
#include "sidestream/analysis/analysis.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/io/open_snapshot.hpp"
#include "sidestream/sims/run.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

long page_faults() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

/// CPU time a cell and page faults of each repeat of some works.
class Costs {
 public:
  Costs(const comm::Communicator& comm, std::int64_t cells) : comm_(comm), cells_(static_cast<double>(cells)) {}

  template <typename F>
  void measure(const std::string& name, F work) {
    comm_.barrier();
    const long faults = page_faults();
    const double before = bench::cpu_seconds();
    work();
    times_[name].push_back(1e9 * bench::total(comm_, bench::cpu_seconds() - before) / cells_);
    faults_[name] = bench::total(comm_, static_cast<double>(page_faults() - faults));
  }
  json report() const {
    json all;
    for (const auto& [name, times] : times_)
      all[name] = {{"ns_a_cell", bench::spread(times)}, {"page_faults_of_last", faults_.at(name)}};
    return all;
  }

 private:
  const comm::Communicator& comm_;
  double cells_;
  std::map<std::string, std::vector<double>> times_;
  std::map<std::string, double> faults_;
};

json measure(const comm::Communicator& world, const std::string& config_path, const std::string& checkpoint,
             int steps) {
  const sims::RunConfig config = sims::read_run(core::load_toml(config_path));
  core::Bill bill;
  const auto simulation = config.plan->make(world, {}, bill);
  simulation->restore(
      io::open_snapshot(world, checkpoint, [&](const mesh::Snapshot& file) { return simulation->blocks_for(file); }));
  Costs costs(world, config.plan->cells().product());
  for (int step = 0; step < steps; ++step) {
    costs.measure("step", [&] { simulation->advance(); });
    costs.measure("suite", [&] {
      const mesh::Snapshot snapshot = config.snapshot_of(*simulation);
      for (const auto& [part, parameters] : analysis::suites().named("gimlet").parts)
        costs.measure("suite: " + part, [&, table = core::parse_toml(parameters, part)] {
          analysis::analyses().chosen(table, "analysis").make(table, nullptr)->run(world, snapshot);
        });
    });
  }
  return costs.report();
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  if (argc < 3) {
    std::fputs("usage: bench_suite_and_step CONFIG CHECKPOINT [STEPS]\n", stderr);
    return EXIT_FAILURE;
  }
  json report = bench::header(world, "suite_and_step");
  report["costs"] = measure(world, argv[1], argv[2], argc > 3 ? std::atoi(argv[3]) : 5);
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
