#include "sidestream/analysis/analysis.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <variant>

#include "bindings.hpp"
#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/analysis/merge_tree.hpp"
#include "sidestream/analysis/power_spectrum.hpp"

namespace sidestream::bindings {

namespace {

using Sides = std::variant<double, std::array<double, 3>>;

template <typename T>
mesh::Int3 cells_of(const FieldArray<T>& array) {
  const auto along = [&](std::size_t axis) { return static_cast<std::int32_t>(array.shape(axis)); };
  return {along(2), along(1), along(0)};
}

// One number is the side along x of a box of cubic cells; three are the sides along x, y, z.
mesh::Geometry geometry_of(mesh::Int3 cells, const Sides& sides, bool is_periodic) {
  mesh::Geometry geometry{mesh::domain_of(cells), {}, {is_periodic, is_periodic, is_periodic}};
  if (const double* side = std::get_if<double>(&sides))
    for (int axis = 0; axis < 3; ++axis)
      geometry.length[static_cast<std::size_t>(axis)] = *side / cells.x * cells[axis];
  else
    geometry.length = std::get<std::array<double, 3>>(sides);
  return geometry;
}

template <typename T>
mesh::Field<double> field_of(const FieldArray<T>& array, const mesh::Geometry& geometry) {
  mesh::Field<double> field(mesh::split(geometry.domain, {1, 1, 1}, geometry.periodic), 0);
  std::copy_n(array.data(), array.size(), field.all().data());
  return field;
}

nb::dict dict_of(const mesh::Result& result) {
  nb::dict columns;
  for (const mesh::Column& column : result.columns)
    std::visit([&](const auto& values) { columns[column.name.c_str()] = array_of(values); }, column.values);
  return columns;
}

// The columns of the `halos` analysis of one array.
template <typename T>
nb::dict halos(const FieldArray<T>& array, const Sides& box_size, const std::string& t_boundary,
               const std::string& t_halo, std::int64_t connectivity, bool is_periodic) {
  ensure_mpi();
  mesh::Result result;
  {
    const nb::gil_scoped_release unlocked;
    core::Node task;
    task.set("analysis", core::Node(std::string("halos")));
    task.set("t_boundary", core::Node(t_boundary));
    task.set("t_halo", core::Node(t_halo));
    task.set("connectivity", core::Node(connectivity));
    const auto analysis = analysis::find_analysis(task).make(task, nullptr);
    mesh::Snapshot snapshot;
    snapshot.geometry = geometry_of(cells_of(array), box_size, is_periodic);
    mesh::Field<double> density = field_of(array, snapshot.geometry);
    snapshot.levels = {density.layout()};
    snapshot.add("total_density", "Msun/Mpc^3", std::move(density));
    result = analysis->run(comm::Communicator(MPI_COMM_SELF), snapshot);
  }
  return dict_of(result);
}

template <typename T>
nb::dict merge_tree(const FieldArray<T>& array, std::int64_t connectivity, bool is_periodic) {
  ensure_mpi();
  std::vector<std::int64_t> maximum, saddle, parent;
  std::vector<double> birth, death;
  {
    const nb::gil_scoped_release unlocked;
    mesh::Geometry geometry{mesh::domain_of(cells_of(array)), {1.0, 1.0, 1.0}, {is_periodic, is_periodic, is_periodic}};
    const mesh::Field<double> field = field_of(array, geometry);
    analysis::TreeOptions options;
    options.connectivity = analysis::connectivity_of(connectivity);
    const analysis::MergeTree tree(comm::Communicator(MPI_COMM_SELF), analysis::uniform(field), options);
    for (const analysis::Branch& branch : tree.branches()) {
      maximum.push_back(branch.maximum);
      birth.push_back(branch.birth);
      saddle.push_back(branch.saddle);
      death.push_back(branch.death);
      parent.push_back(branch.parent);
    }
  }
  nb::dict columns;
  columns["maximum"] = array_of(std::move(maximum));
  columns["birth"] = array_of(std::move(birth));
  columns["saddle"] = array_of(std::move(saddle));
  columns["death"] = array_of(std::move(death));
  columns["parent"] = array_of(std::move(parent));
  return columns;
}

template <typename T>
nb::dict power_spectrum(const FieldArray<T>& array, const Sides& box_size) {
  ensure_mpi();
  analysis::PowerSpectrum spectrum;
  {
    const nb::gil_scoped_release unlocked;
    const mesh::Geometry geometry = geometry_of(cells_of(array), box_size, true);
    spectrum = analysis::power_spectrum(comm::Communicator(MPI_COMM_SELF), field_of(array, geometry), geometry);
  }
  nb::dict columns;
  columns["k"] = array_of(std::move(spectrum.k));
  columns["modes"] = array_of(std::move(spectrum.modes));
  columns["power"] = array_of(std::move(spectrum.power));
  return columns;
}

template <typename T>
void bind_for(nb::module_& module) {
  module.def("halos", &halos<T>, nb::arg("array"), nb::arg("box_size"), nb::arg("t_boundary"), nb::arg("t_halo"),
             nb::arg("connectivity"), nb::arg("periodic"), "Columns of the iso-density halos of a density (z, y, x).");
  module.def("merge_tree", &merge_tree<T>, nb::arg("array"), nb::arg("connectivity"), nb::arg("periodic"),
             "Branches of the merge tree of a field (z, y, x), by descending maximum; a branch that never ends has the "
             "saddle -1.");
  module.def(
      "power_spectrum", &power_spectrum<T>, nb::arg("array"), nb::arg("box_size"),
      "Mean wave number, number of modes and power in shells, of the relative fluctuation of a field (z, y, x).");
}

}  // namespace

void bind_analysis(nb::module_& module) {
  bind_for<double>(module);
  bind_for<float>(module);
}

}  // namespace sidestream::bindings
