// The Lyman-alpha forest: CPU time of the optical depth along an axis and of the whole analysis `flux`, against a pass
// through memory that reads three fields and writes one. Usage: bench_flux [cells a side]
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>

#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "forest.hpp"
#include "sidestream/analysis/analysis.hpp"

namespace {

using namespace sidestream;
using nlohmann::json;

double memory_pass(const analysis::Absorbers& gas, mesh::Field<double>& to) {
  for (int b = 0; b < to.blocks(); ++b)
    core::for_each_cell(to.box(b), [out = to.view(b), n = gas.density.view(b), t = gas.temperature.view(b),
                                    v = gas.velocity[0].view(b)](int k, int j, int i) {
      out(k, j, i) = n(k, j, i) * t(k, j, i) + v(k, j, i);
    });
  return to.all().empty() ? 0.0 : to.all().front();
}

json measure(const comm::Communicator& comm, int cells) {
  const mesh::Box domain = mesh::domain_of({cells, cells, cells});
  const mesh::Layout layout = mesh::split(domain, {1, 1, comm.size()});
  const mesh::Snapshot snapshot = bench::forest(comm, layout);
  const analysis::Absorbers gas =
      analysis::absorbers_of(comm, snapshot, {analysis::lyman_alpha("H I"), analysis::Broadening::full, {0, 1, 2}});
  json report;
  mesh::Field<double> work(layout, comm.rank());
  report["memory_pass"] = bench::microseconds_a_cell(comm, domain.volume(), [&] { memory_pass(gas, work); });
  for (const analysis::Broadening broadening :
       {analysis::Broadening::local, analysis::Broadening::full, analysis::Broadening::voigt})
    for (int axis = 0; axis < 3; ++axis)
      report["optical_depth"][analysis::broadening_names[static_cast<std::size_t>(broadening)]]
            [std::string(1, "xyz"[axis])] = bench::microseconds_a_cell(
                comm, domain.volume(), [&] { analysis::optical_depth(comm, gas, axis, broadening); });
  const auto task = [&](const std::string& more) {
    const core::Node table = core::parse_toml("analysis = 'flux'\n" + more, "task");
    return bench::microseconds_a_cell(comm, domain.volume(), [&] {
      analysis::analyses().chosen(table, "analysis").make(table, nullptr)->run(comm, snapshot);
    });
  };
  report["flux_along_lines"] = task("mu_bins = 0");
  report["flux"] = task("");
  report["flux_rescaled"] = task("mean_flux = 'becker2013'");
  const auto median = [](const json& times) { return times["median"].get<double>(); };
  report["full_over_memory_pass"] = median(report["optical_depth"]["full"]["z"]) / median(report["memory_pass"]);
  return report;
}

}  // namespace

int main(int argc, char** argv) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  const int cells = argc > 1 ? std::atoi(argv[1]) : 128;
  json report = bench::header(world, "flux");
  report["cells"] = cells;
  report["us_a_cell"] = measure(world, cells);
  if (world.rank() == 0) std::puts(report.dump(2).c_str());
}
