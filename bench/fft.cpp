// The transform against the best single-process FFTW (planned several times with FFTW_MEASURE, the fastest kept)
// divided by the ranks, and against FFTW-MPI, all in this run. One "pair" is a forward and a backward real-to-complex
// transform. Usage: bench_fft [cells a side]...
#include <fftw3-mpi.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <complex>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "report.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/fft/in_place_field.hpp"
#include "sidestream/mesh/forest.hpp"
#include "sidestream/solvers/gravity.hpp"

namespace {

using namespace sidestream;
using Complex = std::complex<double>;
using nlohmann::json;

constexpr int plannings = 10;
constexpr double seconds_each = 0.7;

// Of each repeat, ascending: the wall time of the slowest rank and the CPU time of all ranks [s].
struct Times {
  std::vector<double> wall, cpu;

  json summary() const {
    const std::size_t middle = wall.size() / 2;
    return {{"min_s", wall.front()},  {"median_s", wall[middle]}, {"max_s", wall.back()},
            {"repeats", wall.size()}, {"cpu_min_s", cpu.front()}, {"cpu_median_s", cpu[middle]},
            {"cpu_max_s", cpu.back()}};
  }
};

Times time(const comm::Communicator& comm, const std::function<void()>& work) {
  Times times;
  work();
  const core::Stopwatch total;
  do {
    comm.barrier();
    const core::Stopwatch watch;
    const double cpu_before = bench::cpu_seconds();
    work();
    const double wall = watch.seconds(), cpu = bench::cpu_seconds() - cpu_before;
    times.wall.push_back(comm.max(wall));
    const std::vector<double> parts = comm.all_gather(cpu);
    times.cpu.push_back(std::accumulate(parts.begin(), parts.end(), 0.0));
  } while (comm.max(total.seconds()) < seconds_each || times.wall.size() < 5);
  std::ranges::sort(times.wall);
  std::ranges::sort(times.cpu);
  return times;
}

bool is_faster(const Times& a, const Times& b) {
  return b.wall.empty() || a.wall.front() < b.wall.front();
}

// Times the plans, which end here.
void keep_faster(const comm::Communicator& comm, fftw_plan forward, fftw_plan backward, Times& best) {
  const Times times = time(comm, [&] {
    fftw_execute(forward);
    fftw_execute(backward);
  });
  if (is_faster(times, best)) best = times;
  fftw_destroy_plan(forward);
  fftw_destroy_plan(backward);
}

// The best planning of single-process FFTW, by each rank of `comm` for a field of its own, at the same time.
Times time_serial(const comm::Communicator& comm, int n) {
  Times best;
  const auto modes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * static_cast<std::size_t>(n / 2 + 1);
  fftw_complex* spectrum = fftw_alloc_complex(modes);
  for (int planning = 0; planning < plannings; ++planning) {
    fftw_forget_wisdom();
    double* real = planning % 2 == 0 ? reinterpret_cast<double*>(spectrum) : fftw_alloc_real(2 * modes);
    const fftw_plan forward = fftw_plan_dft_r2c_3d(n, n, n, real, spectrum, FFTW_MEASURE);
    const fftw_plan backward = fftw_plan_dft_c2r_3d(n, n, n, spectrum, real, FFTW_MEASURE);
    std::fill_n(real, 2 * modes, 0.0);
    keep_faster(comm, forward, backward, best);
    if (planning % 2 == 1) fftw_free(real);
  }
  fftw_free(spectrum);
  return best;
}

// Rank 0 works, the others sleep, so that the serial time is that of a quiet machine.
Times time_alone(const comm::Communicator& comm, int n) {
  Times best;
  if (comm.rank() == 0) best = time_serial(comm::Communicator(MPI_COMM_SELF), n);
  MPI_Request others;
  MPI_Ibarrier(comm.raw(), &others);
  for (int done = 0; !done; usleep(1000)) MPI_Test(&others, &done, MPI_STATUS_IGNORE);
  best.wall = comm.broadcast(best.wall);
  best.cpu = comm.broadcast(best.cpu);
  return best;
}

Times time_fftw_mpi(const comm::Communicator& comm, int n) {
  Times best;
  std::ptrdiff_t local_z, first_z, local_y, first_y;
  const auto size = static_cast<std::size_t>(
      fftw_mpi_local_size_3d_transposed(n, n, n / 2 + 1, comm.raw(), &local_z, &first_z, &local_y, &first_y));
  fftw_complex* spectrum = fftw_alloc_complex(size);
  double* real = reinterpret_cast<double*>(spectrum);
  for (int planning = 0; planning < plannings; ++planning) {
    fftw_forget_wisdom();
    const fftw_plan forward =
        fftw_mpi_plan_dft_r2c_3d(n, n, n, real, spectrum, comm.raw(), FFTW_MEASURE | FFTW_MPI_TRANSPOSED_OUT);
    const fftw_plan backward =
        fftw_mpi_plan_dft_c2r_3d(n, n, n, spectrum, real, comm.raw(), FFTW_MEASURE | FFTW_MPI_TRANSPOSED_IN);
    std::fill_n(real, 2 * size, 0.0);
    keep_faster(comm, forward, backward, best);
  }
  fftw_free(spectrum);
  return best;
}

// Bytes of all ranks' plan and fields over those of the cells.
double memory_of(const comm::Communicator& comm, const fft::FftPlan<double>& plan, std::size_t fields_bytes) {
  const std::vector<double> parts = comm.all_gather(static_cast<double>(fields_bytes + plan.size_bytes()));
  return std::accumulate(parts.begin(), parts.end(), 0.0) /
         static_cast<double>(plan.cells().product() * static_cast<std::int64_t>(sizeof(double)));
}

struct Measured {
  Times times;
  double memory = 0.0;
};

Measured time_plan(const comm::Communicator& comm, const mesh::Layout& layout, const fft::FftOptions& options) {
  const fft::FftPlan<double> plan(comm, layout, options);
  mesh::Field<double> field(layout, comm.rank());
  mesh::Field<Complex> spectrum(plan.spectral(), comm.rank());
  Measured measured;
  measured.times = time(comm, [&] {
    plan.forward(field, spectrum);
    plan.backward(spectrum, field);
  });
  measured.memory = memory_of(comm, plan, field.all().size_bytes() + spectrum.all().size_bytes());
  return measured;
}

Measured time_in_place(const comm::Communicator& comm, const mesh::Layout& layout, fft::FftOptions options) {
  options.in_place = true;
  const fft::FftPlan<double> plan(comm, layout, options);
  const fft::InPlaceField<double> both(plan, comm.rank());
  Measured measured;
  measured.times = time(comm, [&] {
    plan.forward(both.cells(), both.modes());
    plan.backward(both.modes(), both.cells());
  });
  measured.memory = memory_of(comm, plan, both.size_bytes());
  return measured;
}

Times time_gravity(const comm::Communicator& comm, const mesh::Layout& blocks) {
  const mesh::Geometry geometry{blocks.domain(), {1.0, 1.0, 1.0}, blocks.periodic()};
  solvers::Gravity gravity(comm, blocks, geometry);
  const mesh::Field<double> density(blocks, comm.rank());
  mesh::Field<double> acceleration(blocks, comm.rank(), 3, 1);
  return time(comm, [&] { gravity.solve(density, acceleration); });
}

json measure(const comm::Communicator& comm, int n) {
  const mesh::Box domain = mesh::domain_of({n, n, n});
  const mesh::Layout blocks = mesh::Forest({n, n, n}, 32).layout(comm.size());
  const double cells = static_cast<double>(domain.volume());

  const Times serial = time_alone(comm, n), together = time_serial(comm, n), fftw_mpi = time_fftw_mpi(comm, n);
  const mesh::Layout planes = split(domain, {1, 1, comm.size()}), rows = split(domain, {1, comm.size(), 1});
  const std::int32_t two_thirds = (n - 1) / 3;
  const mesh::Int3 kept{two_thirds, two_thirds, two_thirds};
  const Measured slabs = time_plan(comm, planes, {.decomposition = fft::Decomposition::slabs});
  const Measured pencils = time_plan(comm, rows, {.decomposition = fft::Decomposition::pencils});
  const Measured from_blocks = time_plan(comm, blocks, {});
  const Measured slabs_in_place = time_in_place(comm, planes, {.decomposition = fft::Decomposition::slabs});
  const Measured kept_slabs = time_plan(comm, planes, {.decomposition = fft::Decomposition::slabs, .kept = kept});
  const Measured kept_from_blocks = time_plan(comm, blocks, {.kept = kept});
  const Times gravity = time_gravity(comm, blocks);

  const auto against = [&](const Times& times) {
    json entry = times.summary();
    entry["ratio_to_serial_fftw_over_ranks"] = times.wall.front() * comm.size() / serial.wall.front();
    entry["ratio_to_fftw_mpi"] = times.wall.front() / fftw_mpi.wall.front();
    entry["ratio_of_cpu_to_serial_fftw"] = times.cpu.front() / serial.cpu.front();
    return entry;
  };
  const auto measured = [&](const Measured& run) {
    json entry = against(run.times);
    entry["memory_over_field"] = run.memory;
    return entry;
  };
  const auto against_full = [&](const Measured& run, const Measured& full) {
    json entry = measured(run);
    entry["ratio_to_full"] = run.times.wall.front() / full.times.wall.front();
    entry["ratio_of_cpu_to_full"] = run.times.cpu.front() / full.times.cpu.front();
    return entry;
  };
  json gravity_entry = gravity.summary();
  gravity_entry["cpu_us_per_cell"] = 1e6 * gravity.cpu.front() / cells;
  gravity_entry["wall_us_per_cell_times_ranks"] = 1e6 * gravity.wall.front() * comm.size() / cells;
  return {{"cells", n},
          {"serial_fftw", serial.summary()},
          // What the machine has for ranks that compute at once and never wait: no ratio to serial FFTW is below this.
          {"serial_fftw_by_all_ranks_at_once", together.wall.front() / serial.wall.front()},
          {"fftw_mpi", against(fftw_mpi)},
          {"slabs", measured(slabs)},
          {"pencils", measured(pencils)},
          {"from_blocks_of_32", measured(from_blocks)},
          {"slabs_in_place", against_full(slabs_in_place, slabs)},
          {"kept_slabs", against_full(kept_slabs, slabs)},
          {"kept_from_blocks_of_32", against_full(kept_from_blocks, from_blocks)},
          {"gravity", gravity_entry}};
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  fftw_mpi_init();
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::vector<int> sizes(static_cast<std::size_t>(argc - 1));
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::stoi(argv[i + 1]);
  if (sizes.empty()) sizes = {64, 128};

  json report{{"bench", "fft"},
              {"machine", bench::processor()},
              {"compiler", "g++ " __VERSION__},
              {"ranks", comm.size()},
              {"unit", "one forward and one backward transform"},
              {"sizes", json::array()}};
  for (const int n : sizes) report["sizes"].push_back(measure(comm, n));
  if (comm.rank() == 0) std::printf("%s\n", report.dump(2).c_str());
}
