// Iso-density halos on a lognormal field: CPU time (user and system, over all ranks) a cell, against the time to read
// the field once in the same run. Usage: mpirun -n 2 bench_halos [CELLS a side]...

#include "sidestream/analysis/halos.hpp"

#include <mpi.h>

#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lognormal.hpp"
#include "report.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/mesh/forest.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr int repeats = 5;

using Field = mesh::Field<double>;

// CPU time of all ranks a cell [us].
json cpu_us_per_cell(const comm::Communicator& comm, double cells, const std::function<void()>& work) {
  std::vector<double> times;
  for (int r = 0; r < repeats; ++r) {
    comm.barrier();
    const double before = bench::cpu_seconds();
    work();
    times.push_back(1e6 * bench::total(comm, bench::cpu_seconds() - before) / cells);
  }
  return bench::spread(times);
}

// The least any finder must do: look at every cell.
double largest(const Field& field) {
  double value = 0.0;
  for (const double cell : field.all()) value = value < cell ? cell : value;
  return value;
}

json measure(const comm::Communicator& comm, int n) {
  const mesh::Layout layout = mesh::Forest({n, n, n}, 32).layout(comm.size());
  const mesh::Geometry geometry{layout.domain(), {1.0, 1.0, 1.0}};
  const Field field = bench::lognormal(comm, layout);
  const double cells = static_cast<double>(layout.domain().volume());
  const double mean = analysis::mean(comm, field, "density");
  const analysis::HaloCriteria criteria{81.66 * mean, 200 * mean}, low{5 * mean, 10 * mean};
  volatile double sink = 0.0;

  const auto halos = analysis::find_halos(comm, field, geometry, criteria);
  std::int64_t in_halos = 0;
  for (const auto& halo : halos) in_halos += halo.cells;
  json result{{"cells", n}, {"halos", halos.size()}, {"cells_in_halos", in_halos}};
  result["read_once"] = cpu_us_per_cell(comm, cells, [&] { sink = largest(field); });
  result["mean"] = cpu_us_per_cell(comm, cells, [&] { sink = analysis::mean(comm, field, "density"); });
  result["halos"] = cpu_us_per_cell(comm, cells, [&] { analysis::find_halos(comm, field, geometry, criteria); });
  result["halos_5_and_10_mean"] =
      cpu_us_per_cell(comm, cells, [&] { analysis::find_halos(comm, field, geometry, low); });
  result["halos_over_read_once"] = result["halos"]["min"].get<double>() / result["read_once"]["min"].get<double>();
  const analysis::LeafField levels = analysis::uniform(field);
  result["merge_tree"] = cpu_us_per_cell(comm, cells, [&] { const analysis::MergeTree tree(comm, levels); });
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::vector<int> sizes;
  for (int a = 1; a < argc; ++a) sizes.push_back(std::stoi(argv[a]));
  if (sizes.empty()) sizes = {128, 256};

  json report = bench::header(comm, "halos");
  report["unit"] = "microseconds of CPU time a cell, over all ranks";
  for (const int n : sizes) report["sizes"].push_back(measure(comm, n));
  if (comm.rank() == 0) std::printf("%s\n", report.dump(2).c_str());
}
