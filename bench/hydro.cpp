// Cost of the gas solver on one core, in CPU time a cell and step (all three directions), for blocks of several sizes
// and both Riemann solvers, beside two limits of this machine measured in this run: reading and writing the state at
// the speed of a triad that does not fit the caches, and the divisions and square roots that the method needs, done by
// themselves. Caveat: on a processor that runs two threads on a core, a busy neighbour costs up to a factor of two.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "report.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/solvers/hydro.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

/// CPU time of `work` over `items`, in nanoseconds, of several repeats.
template <typename F>
json nanoseconds_each(double items, int repeats, F work) {
  work();
  return bench::cpu_time_each(comm::Communicator(MPI_COMM_SELF), items, bench::nanosecond, repeats, work);
}

mesh::Field<double> turbulent_gas(const mesh::Geometry& geometry) {
  mesh::Field<double> state(mesh::split(geometry.domain, {1, 1, 1}), 0, solvers::gas_components, solvers::hydro_ghost);
  const auto u = state.view(0);
  const double turn = 2.0 * M_PI * geometry.cell_size(0);
  core::for_each_cell(state.box(0).grown(solvers::hydro_ghost), [=](int k, int j, int i) {
    const double x = turn * i, y = turn * j, z = turn * k, rho = 1.0 + 0.5 * std::sin(x) * std::cos(y);
    const double vx = std::sin(z) + 0.3, vy = std::cos(x), vz = std::sin(y), internal = 0.9 * rho;
    u(solvers::density, k, j, i) = rho;
    u(solvers::momentum_x, k, j, i) = rho * vx;
    u(solvers::momentum_y, k, j, i) = rho * vy;
    u(solvers::momentum_z, k, j, i) = rho * vz;
    u(solvers::internal_energy, k, j, i) = internal;
    u(solvers::total_energy, k, j, i) = internal + solvers::kinetic_energy(rho, rho * vx, rho * vy, rho * vz);
  });
  return state;
}

json time_block(int block, const std::string& riemann) {
  const mesh::Geometry geometry{mesh::domain_of({block, block, block}), {1.0, 1.0, 1.0}};
  solvers::HydroConfig config;
  config.riemann = riemann;
  const solvers::Hydro hydro(config, geometry);
  auto state = turbulent_gas(geometry);
  const double dt = 1e-3 * hydro.largest_step(state);  // the ghost cells are not filled again
  const double cells = static_cast<double>(geometry.domain.volume());
  json result = nanoseconds_each(cells, static_cast<int>(3e6 / cells) + 3, [&] { hydro.advance(state, dt); });
  result["unit"] = "ns of one core a cell";
  result["cells_per_second"] = 1e9 / result["min"].get<double>();
  return result;
}

/// The triad a = b + c x on arrays far larger than the caches: bytes a nanosecond.
double triad_bytes_per_ns() {
  constexpr std::size_t count = 8'000'000;
  std::vector<double> a(count), b(count, 1.0), c(count, 2.0);
  const json time = nanoseconds_each(static_cast<double>(count), 5, [&] {
    for (std::size_t n = 0; n < count; ++n) a[n] = b[n] + c[n] * 1.5;
  });
  return (a[count / 2] > 0.0 ? 32.0 : 1.0) / time["min"].get<double>();  // with the read of `a` before it is written
}

/// Nanoseconds of a division and of a square root in vector code that stays in the first cache.
template <typename F>
double operation_ns(F operation) {
  constexpr int count = 1024, rounds = 2000;
  std::vector<double> in(count, 1.7), out(count);
  const json time = nanoseconds_each(double{count} * rounds, 5, [&] {
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t n = 0; n < count; ++n) out[n] = operation(in[n]);
      in[static_cast<std::size_t>(round) % count] += 1e-9 * out[7];
    }
  });
  return time["min"].get<double>();
}

// Of one cell in three dimensions: nine faces in the predictor and three final ones, eighteen corrected states, and the
// conversions, sound speeds and energies of a cell.
constexpr double divisions = 9 * 2 + 3 * 5 + 18 + 5, square_roots = 9 * 4 + 3 * 8 + 1;

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_SELF);
  json report = bench::header(comm, "hydro");
  const double memory_ns = 3.0 * 8.0 * solvers::gas_components / triad_bytes_per_ns();
  const double arithmetic_ns = divisions * operation_ns([](double x) { return 1.0 / x; }) +
                               square_roots * operation_ns([](double x) { return std::sqrt(x); });
  report["limit_memory_ns"] = memory_ns;
  report["limit_divisions_and_roots_ns"] = arithmetic_ns;
  for (const std::string riemann : {"two-shock", "hllc"})
    for (const int block : {16, 32, 64}) {
      json& result = report[riemann]["block_" + std::to_string(block)] = time_block(block, riemann);
      if (riemann == "two-shock") result["ratio_to_divisions_and_roots"] = result["min"].get<double>() / arithmetic_ns;
    }
  std::cout << report.dump(2) << '\n';
}
