#include "sidestream/analysis/analysis.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <map>
#include <optional>
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

std::string field_in(const Options& options) {
  const auto found = options.find("field");
  return found == options.end() ? "total_density" : std::get<std::string>(found->second);
}

// A snapshot of one field.
mesh::Snapshot snapshot_of(const Blocks& blocks, const Sides& box_size, const mesh::Quantity& quantity,
                           const std::string& length_unit) {
  mesh::Snapshot snapshot;
  snapshot.length_unit = length_unit;
  snapshot.geometry = blocks.geometry(box_size);
  snapshot.levels = {blocks.field().layout()};
  snapshot.rank = blocks.comm().rank();
  snapshot.add(quantity, [field = blocks.field()](int) { return field; });
  return snapshot;
}

using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Reals = std::map<std::string, nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;

// Particles with the positions `x`, `y`, `z` and attributes of any other name.
mesh::Particles particles_of(const Ids& ids, const Reals& reals) {
  mesh::Particles particles;
  particles.id.assign(ids.data(), ids.data() + ids.size());
  for (const auto& [name, values] : reals) {
    std::vector<double> copy(values.data(), values.data() + values.size());
    const std::size_t axis = name.size() == 1 ? std::string("xyz").find(name) : std::string::npos;
    if (axis != std::string::npos)
      particles.position[axis] = std::move(copy);
    else
      particles.attributes.push_back({name, "", std::move(copy)});
  }
  mesh::check(particles);
  return particles;
}

mesh::Moment moment_of(std::map<std::string, double> numbers) {
  mesh::Moment moment;
  if (const auto a = numbers.extract("scale_factor")) moment.scale_factor = a.mapped();
  moment.attributes = std::move(numbers);
  return moment;
}

nb::dict halos(const Blocks& blocks, const Sides& box_size, const Options& options, const std::string& unit,
               const std::string& length_unit, const std::map<std::string, double>& moment,
               const std::optional<Ids>& ids, const Reals& reals) {
  mesh::Result result;
  {
    const nb::gil_scoped_release unlocked;
    core::Node task = node_of(options);
    task.set("analysis", core::Node(std::string("halos")));
    mesh::Snapshot snapshot = snapshot_of(blocks, box_size, {field_in(options), unit}, length_unit);
    snapshot.moment = moment_of(moment);
    const mesh::Particles particles = ids ? particles_of(*ids, reals) : mesh::Particles();
    if (ids) snapshot.add_species({mesh::dark_matter, &particles});
    const auto finder = analysis::analyses().chosen(task, "analysis").make(task, nullptr);
    result = analysis::carry_out(*finder, blocks.comm(), snapshot);
  }
  return dict_of(result);
}

nb::dict power_spectrum(const Blocks& blocks, const Sides& box_size) {
  analysis::PowerSpectrum spectrum;
  {
    const nb::gil_scoped_release unlocked;
    spectrum = analysis::power_spectrum(blocks.comm(), blocks.field(), blocks.geometry(box_size));
  }
  nb::dict columns;
  columns["k"] = array_of(std::move(spectrum.k));
  columns["modes"] = array_of(std::move(spectrum.modes));
  columns["power"] = array_of(std::move(spectrum.power));
  return columns;
}

}  // namespace

void bind_analysis(nb::module_& module) {
  module.def("halos", &halos, nb::arg("blocks"), nb::arg("box_size"), nb::arg("options"), nb::arg("unit"),
             nb::arg("length_unit"), nb::arg("moment"), nb::arg("ids") = nb::none(), nb::arg("reals") = Reals(),
             "The result of the analysis `halos` of a density with its options; `moment` has the attributes of a "
             "snapshot, `ids` and `reals` (x, y, z and attributes) are those of its particles on this rank. "
             "Collective; complete on rank 0.");
  module.def("power_spectrum", &power_spectrum, nb::arg("blocks"), nb::arg("box_size"),
             "Mean wave number, number of modes and power in shells, of the relative fluctuation of a field. "
             "Collective; complete on rank 0.");
}

}  // namespace sidestream::bindings
