// The whole adiabatic step of the cosmology simulation: gas, one particle a cell and gravity. CPU time (user and
// system, over all ranks) a cell and step, the share of each part, and peak memory a cell.
//
//     mpirun -n 2 bench_step [CELLS] [BLOCK] [STEPS]

#include <fmt/format.h>
#include <sys/resource.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "report.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/sims/run.hpp"

namespace {

using namespace sidestream;

nlohmann::json measure(const comm::Communicator& world, int cells, int block, int steps) {
  const std::string text = fmt::format(
      "simulation = \"cosmology\"\n[mesh]\ncells = [{0}, {0}, {0}]\nblock = {1}\n[cosmology]\nbox = \"{2} "
      "Mpc\"\nz_start = 50\nz_end = 0\n",
      cells, block, 0.222 * cells);
  const sims::RunConfig config = sims::read_run(core::parse_toml(text, "bench"));
  core::Bill bill;
  const auto simulation = config.plan->make(world, {}, bill);
  simulation->initialize();
  simulation->advance();

  std::vector<double> cpu_us;
  const double count = std::pow(cells, 3);
  const auto before = bill.lines();
  for (int step = 0; step < steps; ++step) {
    world.barrier();
    const double start = bench::cpu_seconds();
    simulation->advance();
    cpu_us.push_back(1e6 * bench::total(world, bench::cpu_seconds() - start) / count);
  }
  nlohmann::json parts;
  for (const auto& [line, seconds] : bill.lines()) {
    if (line.second != "simulation") continue;
    const auto earlier = before.find(line);
    parts[line.first] =
        1e6 * bench::total(world, seconds - (earlier == before.end() ? 0.0 : earlier->second)) / count / steps;
  }
  return {{"cells", cells},
          {"block", block},
          {"cpu_us_per_cell_and_step", bench::spread(cpu_us)},
          {"wall_us_of_parts_over_ranks", parts},
          {"peak_memory_bytes_per_cell", bench::total(world, bench::peak_memory_bytes()) / count},
          {"expected_memory_bytes_per_cell", config.plan->memory_bytes() / count}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int block = argc > 2 ? std::atoi(argv[2]) : 32, steps = argc > 3 ? std::atoi(argv[3]) : 5;
  nlohmann::json report = bench::header(world, "step");
  for (const int cells : argc > 1 ? std::vector{std::atoi(argv[1])} : std::vector{64, 128})
    report["runs"].push_back(measure(world, cells, block, steps));
  if (world.rank() == 0) std::cout << report.dump(2) << '\n';
}
