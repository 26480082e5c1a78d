// A step of incompressible turbulence (rk4) in single and in double precision, in turn: CPU time over all ranks, bytes.
// Usage: mpirun -n 2 bench_turbulence_step [cells a side] [steps]
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "report.hpp"
#include "sidestream/sims/run.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

/// The Taylor-Green vortex, in one precision.
class Vortex {
 public:
  Vortex(const comm::Communicator& world, int cells, const char* precision)
      : world_(world),
        config_(sims::read_run(
            core::parse_toml(fmt::format("simulation = \"turbulence\"\n[mesh]\ncells = [{0}, {0}, {0}]\nblock = "
                                         "{0}\n[turbulence]\nviscosity = 0.000625\ndt = 0.005\nprecision = \"{1}\"\n",
                                         cells, precision),
                             "bench"))),
        simulation_(config_.plan->make(world, {}, bill_)) {
    simulation_->initialize();
    simulation_->advance();
  }

  void step() {
    world_.barrier();
    const double start = bench::cpu_seconds();
    simulation_->advance();
    cpu_s_.push_back(bench::total(world_, bench::cpu_seconds() - start));
  }
  json report() const {
    return {{"cpu_s_a_step", bench::spread(cpu_s_)}, {"expected_bytes", config_.plan->memory_bytes()}};
  }
  double least() const { return *std::ranges::min_element(cpu_s_); }

 private:
  const comm::Communicator& world_;
  core::Bill bill_;
  sims::RunConfig config_;
  std::unique_ptr<sims::Simulation> simulation_;
  std::vector<double> cpu_s_;
};

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 128, steps = argc > 2 ? std::atoi(argv[2]) : 20;
  Vortex single(world, cells, "single"), of_doubles(world, cells, "double");
  for (int step = 0; step < steps; ++step) {
    single.step();
    of_doubles.step();
  }
  json report = bench::header(world, "turbulence_step");
  report["cells"] = cells;
  report["single"] = single.report();
  report["double"] = of_doubles.report();
  report["single_over_double"] = single.least() / of_doubles.least();
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
