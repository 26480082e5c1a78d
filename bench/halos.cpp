// Merge trees and iso-density halos on a lognormal field: CPU time (user and system, over all ranks) a cell, against
// the time to read the field once in the same run; memory against that of the field. Usage: mpirun -n 2 bench_halos
// CELLS [FILE [BLOCK]]   (FILE: from bench/lognormal_field.py; blocks of 64 cells a side)

#include "sidestream/analysis/halos.hpp"

#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lognormal.hpp"
#include "report.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/core/timer.hpp"
#include "sidestream/mesh/forest.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

constexpr int repeats = 5;

using Field = mesh::Field<double>;

// CPU time of all ranks a cell [us].
json cpu_us_per_cell(const comm::Communicator& comm, double cells, const std::function<void()>& work) {
  return bench::cpu_time_each(comm, cells, bench::microsecond, repeats, work);
}

// The least any finder must do: look at every cell.
double largest(const Field& field) {
  double value = 0.0;
  for (const double cell : field.all()) value = value < cell ? cell : value;
  return value;
}

Field read_field(const mesh::Layout& layout, int rank, const std::string& path) {
  Field field(layout, rank);
  std::ifstream file(path, std::ios::binary);
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_row(field.box(b), [&, view = field.view(b)](int k, int j) {
      const mesh::Box& box = field.box(b);
      file.seekg(linear_index(layout.domain(), {box.lo.x, j, k}) * static_cast<std::int64_t>(sizeof(double)));
      file.read(reinterpret_cast<char*>(&view(k, j, box.lo.x)),
                static_cast<std::streamsize>(sizeof(double)) * box.extent().x);
    });
  core::require(static_cast<bool>(file), "the file does not hold so many doubles");
  return field;
}

// Most memory of all ranks so far, in fields.
double fields_of_memory(const comm::Communicator& comm, double cells) {
  return bench::total(comm, bench::peak_memory_bytes()) / (sizeof(double) * cells);
}

json measure(const comm::Communicator& comm, const mesh::Layout& layout, const Field& field) {
  const mesh::Geometry geometry{layout.domain(), {1.0, 1.0, 1.0}};
  const double cells = static_cast<double>(layout.domain().volume());
  const double mean = analysis::mean(comm, field, "density");
  const analysis::HaloCriteria criteria{82 * mean, 200 * mean}, low{5 * mean, 10 * mean};
  const analysis::LeafField levels = analysis::LeafField{field};
  const analysis::HaloMeasures none;
  analysis::TreeOptions cut;
  cut.cut_off = criteria.t_boundary;
  volatile double sink = 0.0;

  json memory{{"field", fields_of_memory(comm, cells)}};
  const auto halos = analysis::find_halos(comm, levels, geometry, criteria, none);
  memory["halos"] = fields_of_memory(comm, cells);
  const auto tree = std::make_unique<analysis::MergeTree>(comm, levels);
  memory["full_tree"] = fields_of_memory(comm, cells);
  std::int64_t in_halos = 0;
  for (const auto& halo : halos) in_halos += halo.cells;
  json result{{"halos_found", halos.size()}, {"cells_in_halos", in_halos}, {"branches", tree->count_branches()}};
  result["peak_memory_fields"] = memory;
  const auto time = [&](const char* name, const std::function<void()>& work) {
    result[name] = cpu_us_per_cell(comm, cells, work);
  };
  time("read_once", [&] { sink = largest(field); });
  time("mean", [&] { sink = analysis::mean(comm, field, "density"); });
  time("halos", [&] { analysis::find_halos(comm, levels, geometry, criteria, none); });
  time("halos_5_and_10_mean", [&] { analysis::find_halos(comm, levels, geometry, low, none); });
  time("cut_tree", [&] { const analysis::MergeTree again(comm, levels, cut); });
  time("full_tree", [&] { const analysis::MergeTree again(comm, levels); });
  const auto wall_ms = [&](const std::function<void()>& work) {
    std::vector<double> times;
    for (int r = 0; r < repeats; ++r) {
      comm.barrier();
      const core::Stopwatch watch;
      work();
      times.push_back(1e3 * comm.max(watch.seconds()));
    }
    return bench::spread(times);
  };
  result["query_ms"] = {
      {"count", wall_ms([&] { sink = static_cast<double>(tree->components(criteria.t_boundary, criteria.t_halo)); })},
      {"catalogue", wall_ms([&] { analysis::find_halos(comm, *tree, geometry, criteria, none); })},
      {"catalogue_5_and_10_mean", wall_ms([&] { analysis::find_halos(comm, *tree, geometry, low, none); })},
      {"persistence_diagram", wall_ms([&] { sink = static_cast<double>(tree->all_branches().size()); })}};
  for (const int threads : {1, 2, 4}) {
    analysis::TreeOptions options;
    options.threads = threads;
    result["full_tree_ms_by_threads"][std::to_string(threads)] =
        wall_ms([&] { const analysis::MergeTree again(comm, levels, options); });
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator comm(MPI_COMM_WORLD);
  const int n = argc > 1 ? std::stoi(argv[1]) : 128, block = argc > 3 ? std::stoi(argv[3]) : 64;
  json report = bench::header(comm, "halos");
  const mesh::Layout layout = mesh::Forest({n, n, n}, block).layout(comm.size());
  const Field field = argc > 2 ? read_field(layout, comm.rank(), argv[2]) : bench::lognormal(comm, layout);
  report["cells"] = n;
  report["block"] = block;
  report["unit"] = "microseconds of CPU time a cell, over all ranks";
  report.update(measure(comm, layout, field));
  if (comm.rank() == 0) std::printf("%s\n", report.dump(2).c_str());
}
