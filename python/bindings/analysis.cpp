#include "sidestream/analysis/analysis.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <map>
#include <string>
#include <variant>

#include "blocks.hpp"
#include "sidestream/analysis/power_spectrum.hpp"

namespace sidestream::bindings {

namespace {

using Options = std::map<std::string, std::variant<bool, std::int64_t, double, std::string>>;

core::Node node_of(const Options& options) {
  core::Node table;
  for (const auto& [name, value] : options)
    table.set(name, std::visit([](const auto& plain) { return core::Node(plain); }, value));
  return table;
}

// The field as the total density of a snapshot.
mesh::Snapshot snapshot_of(const Blocks& blocks, const Sides& box_size) {
  mesh::Snapshot snapshot;
  snapshot.geometry = blocks.geometry(box_size);
  snapshot.levels = {blocks.field()->layout()};
  snapshot.add("total_density", "Msun/Mpc^3", [field = blocks.field()](int) { return field; });
  return snapshot;
}

nb::dict halos(const Blocks& blocks, const Sides& box_size, const Options& options,
               const std::map<std::string, double>& moment) {
  mesh::Result result;
  {
    const nb::gil_scoped_release unlocked;
    core::Node task = node_of(options);
    task.set("analysis", core::Node(std::string("halos")));
    mesh::Snapshot snapshot = snapshot_of(blocks, box_size);
    snapshot.attributes = moment;
    result = analysis::find_analysis(task).make(task, nullptr)->run(blocks.comm(), snapshot);
  }
  return dict_of(result);
}

nb::dict power_spectrum(const Blocks& blocks, const Sides& box_size) {
  analysis::PowerSpectrum spectrum;
  {
    const nb::gil_scoped_release unlocked;
    spectrum = analysis::power_spectrum(blocks.comm(), *blocks.field(), blocks.geometry(box_size));
  }
  nb::dict columns;
  columns["k"] = array_of(std::move(spectrum.k));
  columns["modes"] = array_of(std::move(spectrum.modes));
  columns["power"] = array_of(std::move(spectrum.power));
  return columns;
}

}  // namespace

void bind_analysis(nb::module_& module) {
  module.def("halos", &halos, nb::arg("blocks"), nb::arg("box_size"), nb::arg("options"), nb::arg("moment"),
             "The result of the analysis `halos` of a density with its options; `moment` has the attributes of a "
             "snapshot. Collective; complete on rank 0.");
  module.def("power_spectrum", &power_spectrum, nb::arg("blocks"), nb::arg("box_size"),
             "Mean wave number, number of modes and power in shells, of the relative fluctuation of a field. "
             "Collective; complete on rank 0.");
}

}  // namespace sidestream::bindings
