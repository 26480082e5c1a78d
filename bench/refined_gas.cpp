// What refinement costs and what it saves. First the step of `RefinedGas` on a mesh of one level beside the plain
// solver with a ghost exchange on the same blocks. Then a blast wave on a uniform mesh and on one of three levels of
// the same finest resolution: cells advanced, CPU time, the share of each part, and memory a leaf cell.
//
//     mpirun -n 2 bench_refined_gas [CELLS] [END]
#include <fmt/format.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>

#include "report.hpp"
#include "sidestream/amr/adaptation.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "sidestream/sims/run.hpp"
#include "sidestream/solvers/refined_gas.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

/// CPU time of all ranks spent in `work`.
template <typename F>
double cpu_of(const comm::Communicator& world, F work) {
  world.barrier();
  const double start = bench::cpu_seconds();
  work();
  return bench::total(world, bench::cpu_seconds() - start);
}

mesh::Field<double> waves(const mesh::Layout& layout, int rank, double cell_size) {
  mesh::Field<double> state(layout, rank, solvers::gas_components, solvers::hydro_ghost);
  const double turn = 2.0 * M_PI * cell_size;
  for (int b = 0; b < state.blocks(); ++b)
    core::for_each_cell(state.box(b), [=, u = state.view(b)](int k, int j, int i) {
      const double rho = 1.0 + 0.5 * std::sin(turn * i) * std::cos(turn * j);
      u(solvers::density, k, j, i) = rho;
      u(solvers::momentum_x, k, j, i) = rho * (std::sin(turn * k) + 0.3);
      u(solvers::momentum_y, k, j, i) = rho * std::cos(turn * i);
      u(solvers::momentum_z, k, j, i) = rho * std::sin(turn * j);
      u(solvers::internal_energy, k, j, i) = 0.9 * rho;
    });
  solvers::set_total_energy(state);
  return state;
}

/// CPU time a cell and step on one level: plain solver and `RefinedGas`, in turns, so that both meet the same load.
json time_one_level(const comm::Communicator& world, int cells, int block, int repeats) {
  const mesh::Forest forest({cells, cells, cells}, block);
  const mesh::Geometry geometry{mesh::domain_of(forest.cells()), {1.0, 1.0, 1.0}};
  const mesh::Hierarchy hierarchy(forest, geometry, world.size(), amr::block_costs(forest));
  const solvers::HydroConfig config;
  auto plain = waves(hierarchy.layout(0), world.rank(), geometry.cell_size(0));
  const solvers::Hydro hydro(config, geometry);
  redistribute::GhostFill ghosts(world, hierarchy.layout(0), solvers::hydro_ghost);
  std::vector<mesh::Field<double>> state;
  state.push_back(waves(hierarchy.layout(0), world.rank(), geometry.cell_size(0)));
  solvers::RefinedGas gas(world, config, hierarchy, std::move(state));
  std::vector<double> plain_us, refined_us;
  const double scale = 1e6 / static_cast<double>(geometry.domain.volume());
  for (int n = 0; n <= repeats; ++n) {
    const double dt = 0.5 * gas.largest_step();
    const double of_plain = cpu_of(world, [&] {
      ghosts.fill(plain);
      hydro.advance(plain, dt);
    });
    const double of_refined = cpu_of(world, [&] { gas.advance_all(0.0, dt); });
    if (n == 0) continue;
    plain_us.push_back(scale * of_plain);
    refined_us.push_back(scale * of_refined);
  }
  const json plain_times = bench::spread(plain_us), refined_times = bench::spread(refined_us);
  const auto median = [](const json& times) { return times.at("median").get<double>(); };
  return {{"cells", cells},
          {"block", block},
          {"plain_cpu_us_per_cell", plain_times},
          {"refined_cpu_us_per_cell", refined_times},
          {"cell_updates_per_second_and_core", 1e6 / median(refined_times)},
          {"overhead", median(refined_times) / median(plain_times) - 1.0}};
}

/// A blast wave to its end.
json time_blast(const comm::Communicator& world, int root, int block, int levels, double end) {
  const std::string mesh = fmt::format(
      "simulation = \"sedov\"\n[mesh]\ncells = [{0}, {0}, {0}]\nblock = {1}\n[sedov]\nend = {2}\n", root, block, end);
  const std::string refinement = fmt::format(
      "[amr]\nmax_level = {}\n[refine.blast]\ncriterion = \"loehner\"\nfields = [\"gas_density\", \"pressure\"]\n",
      levels - 1);
  const auto config = sims::read_run(core::parse_toml(levels > 1 ? mesh + refinement : mesh, "bench"));
  const double memory_before = bench::total(world, bench::peak_memory_bytes());
  core::Bill bill;
  const auto simulation = config.plan->make(world, {}, bill);
  const double cpu = cpu_of(world, [&] {
    simulation->initialize();
    while (!simulation->is_complete()) simulation->advance();
  });
  json parts;
  double all_parts = 0.0;
  for (const auto& [line, seconds] : bill.lines()) {
    if (line.second != "simulation") continue;
    parts[line.first] = bench::total(world, seconds);
    all_parts += parts[line.first].get<double>();
  }
  const json summary = simulation->summary();
  const double regrid = parts.contains("regrid") ? parts.at("regrid").get<double>() : 0.0;
  double leaf_cells = 0.0;
  for (const auto& level : simulation->snapshot().levels)
    for (std::int32_t b = 0; b < level.size(); ++b) leaf_cells += static_cast<double>(level.box(b).volume());
  return {{"status", simulation->status()},
          {"levels", levels},
          {"steps", simulation->moment().step},
          {"cpu_s", cpu},
          {"wall_s_of_parts_over_ranks", parts},
          {"regrid_share", regrid / all_parts},
          {"cell_updates", summary.at("cell_updates")},
          {"updates_of_a_uniform_mesh", summary.at("uniform_cell_updates")},
          {"cpu_us_per_cell_update", 1e6 * cpu / summary.at("cell_updates").get<double>()},
          {"shock_radius_error", summary.at("shock_radius_error")},
          {"leaf_cells_at_end", leaf_cells},
          {"peak_memory_bytes_per_leaf_cell",
           (bench::total(world, bench::peak_memory_bytes()) - memory_before) / leaf_cells}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 64;
  const double end = argc > 2 ? std::atof(argv[2]) : 0.05;
  json report = bench::header(world, "refined_gas");
  // Refined first: the peak of memory is that of the process so far.
  json refined = time_blast(world, cells / 4, 8, 3, end);
  for (const int block : {8, 16, 32}) report["one_level"].push_back(time_one_level(world, cells, block, 7));
  json uniform = time_blast(world, cells, 16, 1, end);
  uniform.erase("peak_memory_bytes_per_leaf_cell");  // hidden behind that of what ran before
  const auto ratio = [&](const char* key) { return refined.at(key).get<double>() / uniform.at(key).get<double>(); };
  report["blast"] = {{"refined", refined},
                     {"uniform", uniform},
                     {"cell_updates_ratio", ratio("cell_updates")},
                     {"cpu_ratio", ratio("cpu_s")}};
  if (world.rank() == 0) std::cout << report.dump(2) << '\n';
}
