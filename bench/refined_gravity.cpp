// Gravity on a refined mesh: the cost of a V cycle over all levels, of a V cycle of the finest level alone and of what
// a new mesh builds, each per cell (refined cells included: they are worked on as well), beside a Fourier transform
// solve of a uniform grid of about as many cells. CPU time of all ranks together. Caveat: one refined region in the
// middle; scattered blocks have more sides at which levels meet.
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>

#include "report.hpp"
#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/solvers/gravity.hpp"
#include "sidestream/solvers/refined_gravity.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr int repeats = 7;

// A periodic box of which the middle half of each axis is refined, and of that the middle quarter again.
mesh::Hierarchy nested(int ranks, std::int32_t cells, std::int32_t block) {
  std::vector<mesh::BlockKey> refined;
  const auto refine = [&](int level, std::int32_t lo, std::int32_t hi) {
    core::for_each_cell(mesh::Box{{lo, lo, lo}, {hi, hi, hi}}, [&](int k, int j, int i) {
      refined.push_back({level, {i, j, k}});
    });
  };
  const std::int32_t blocks = cells / block;
  refine(0, blocks / 4, 3 * blocks / 4);
  refine(1, 3 * blocks / 4, 5 * blocks / 4);
  const mesh::Geometry geometry{mesh::domain_of({cells, cells, cells}), {1.0, 1.0, 1.0}};
  return {mesh::Forest({cells, cells, cells}, block, geometry.periodic, refined), geometry, ranks};
}

void fill(const mesh::Geometry& geometry, mesh::Field<double>& density) {
  const double wavenumber = 6.283185307179586 * geometry.cell_size(0);
  for (int b = 0; b < density.blocks(); ++b) {
    const auto view = density.view(b);
    core::for_each_cell(density.box(b), [&](int k, int j, int i) {
      view(k, j, i) = std::exp(std::cos(wavenumber * i) + std::cos(wavenumber * j) + std::cos(2.0 * wavenumber * k));
    });
  }
}

// CPU time of all ranks per cell in one repetition of `work` [us].
template <typename F>
json us_per_cell(const comm::Communicator& comm, std::int64_t cells, F work) {
  return bench::cpu_time_each(comm, static_cast<double>(cells), bench::microsecond, repeats, work);
}

json measure(const comm::Communicator& comm, std::int32_t root_cells, std::int32_t block) {
  const mesh::Hierarchy hierarchy = nested(comm.size(), root_cells, block);
  std::int64_t cells = 0, finest_cells = 0;
  std::vector<mesh::Field<double>> density;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    density.emplace_back(hierarchy.layout(level), comm.rank());
    fill(hierarchy.geometry(level), density.back());
    finest_cells = hierarchy.layout(level).size() * std::int64_t{block} * block * block;
    cells += finest_cells;
  }
  for (int level = hierarchy.finest_level(); level > 0; --level) {
    const auto l = static_cast<std::size_t>(level);
    amr::LevelTransfer(comm, hierarchy, level - 1, 1).average_down(density[l], density[l - 1]);
  }
  json result{{"root_cells", root_cells}, {"block", block}, {"cells", cells}};
  const solvers::RefinedGravityConfig endless{.tolerance = 0.0, .most_cycles = 4};
  result["build_us_per_cell"] = us_per_cell(comm, cells, [&] { solvers::RefinedGravity(comm, hierarchy, endless); });
  solvers::RefinedGravity gravity(comm, hierarchy, endless);
  gravity.solve(density);
  gravity.keep(1);
  result["cycle_us_per_cell"] = us_per_cell(comm, cells * 4, [&] { gravity.solve(density); });
  result["level_cycle_us_per_cell"] =
      us_per_cell(comm, finest_cells * 4, [&] { gravity.solve_level(2, density[2], 0.5); });

  const solvers::RefinedGravityConfig usual{};
  solvers::RefinedGravity fresh(comm, hierarchy, usual);
  result["cycles_from_zero"] = fresh.solve(density).cycles;
  return result;
}

json measure_transform(const comm::Communicator& comm, std::int32_t cells, std::int32_t block) {
  const mesh::Geometry geometry{mesh::domain_of({cells, cells, cells}), {1.0, 1.0, 1.0}};
  const mesh::Layout blocks = mesh::Forest(geometry.domain.hi, block).layout(comm.size());
  solvers::Gravity gravity(comm, blocks, geometry);
  mesh::Field<double> density(blocks, comm.rank());
  fill(geometry, density);
  json result{{"cells", geometry.domain.volume()}, {"block", block}};
  result["solve_us_per_cell"] = us_per_cell(comm, geometry.domain.volume(), [&] { gravity.solve_potential(density); });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  json report = bench::header(comm, "refined_gravity");
  for (const std::int32_t block : {8, 16}) {
    report["refined"].push_back(measure(comm, 64, block));
    report["uniform_by_transform"].push_back(measure_transform(comm, 96, block));
  }
  if (comm.rank() == 0) std::cout << report.dump(2) << "\n";
}
