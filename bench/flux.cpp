// The Lyman-alpha forest: CPU time of the optical depth along an axis and of the whole analysis `flux`, against a pass
// through memory that reads three fields and writes one. Usage: bench_flux [cells a side]
#include <nlohmann/json.hpp>

#include "analysis/lyman_alpha/lines_of_sight.hpp"
#include "forest.hpp"

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
  const mesh::Layout layout = mesh::split(mesh::domain_of({cells, cells, cells}), {1, 1, comm.size()});
  const mesh::Snapshot snapshot = bench::forest(comm, layout);
  const analysis::Absorbers gas =
      analysis::absorbers_of(comm, snapshot, {analysis::lyman_alpha("H I"), analysis::Broadening::full, {0, 1, 2}});
  json report;
  mesh::Field<double> work(layout, comm.rank());
  report["memory_pass"] = bench::microseconds_a_cell(comm, snapshot, [&] { memory_pass(gas, work); });
  for (const analysis::Broadening broadening :
       {analysis::Broadening::local, analysis::Broadening::full, analysis::Broadening::voigt})
    for (int axis = 0; axis < 3; ++axis)
      report["optical_depth"][analysis::broadening_names[static_cast<std::size_t>(broadening)]]
            [std::string(1, "xyz"[axis])] = bench::microseconds_a_cell(
                comm, snapshot, [&] { analysis::optical_depth(comm, gas, axis, broadening); });
  const auto task = [&](const std::string& more) {
    return bench::time_of_task(comm, snapshot, "analysis = 'flux'\n" + more);
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
  bench::report_of_cube(argc, argv, "flux", measure);
}
