#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/file_choice.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/quantity_names.hpp"
#include "sidestream/io/write_snapshot.hpp"
#include "sidestream/mesh/layout.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::bindings {

namespace {

using DoubleArray = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

// Of at most `side` cells along each axis, so that as many ranks as there are boxes may read a part each.
std::vector<mesh::Box> boxes_of(const mesh::Box& domain, std::int32_t side) {
  std::vector<mesh::Box> boxes;
  for (std::int32_t z = 0; z < domain.hi.z; z += side)
    for (std::int32_t y = 0; y < domain.hi.y; y += side)
      for (std::int32_t x = 0; x < domain.hi.x; x += side)
        boxes.push_back(
            {{x, y, z},
             {std::min(x + side, domain.hi.x), std::min(y + side, domain.hi.y), std::min(z + side, domain.hi.z)}});
  return boxes;
}

void add(mesh::Snapshot& state, mesh::Quantity quantity, const DoubleArray& array) {
  const mesh::Int3 cells = state.geometry.domain.extent();
  const core::View4<const double> from(array.data(), 0, 0, 0, cells.x, cells.y, cells.z, 1);
  state.add_computed(std::move(quantity), [from](int, const mesh::Box& box, const core::View4<double>& out) {
    for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
      for (std::int32_t j = box.lo.y; j < box.hi.y; ++j)
        for (std::int32_t i = box.lo.x; i < box.hi.x; ++i) out(k, j, i) = from(k, j, i);
  });
}

// A plot file of arrays (z, y, x), all of one shape, by the names of their quantities.
void write_arrays(const std::string& path, const std::string& format, const std::map<std::string, DoubleArray>& arrays,
                  const std::map<std::string, std::string>& units, const std::array<double, 3>& length,
                  const std::string& length_unit, std::int64_t step, const std::optional<double>& scale_factor,
                  const std::map<std::string, double>& attributes, std::int32_t side) {
  ensure_mpi();
  const nb::gil_scoped_release unlocked;
  const comm::Communicator self(MPI_COMM_SELF);
  mesh::Snapshot state;
  const DoubleArray& first = arrays.begin()->second;
  const auto cells = [&](std::size_t axis) { return static_cast<std::int32_t>(first.shape(axis)); };
  state.geometry.domain = {{0, 0, 0}, {cells(2), cells(1), cells(0)}};
  state.geometry.length = length;
  state.length_unit = length_unit;
  state.moment.step = step;
  state.moment.scale_factor = scale_factor;
  state.moment.attributes = attributes;
  std::vector<mesh::Box> boxes = boxes_of(state.geometry.domain, side);
  const std::vector<std::int32_t> owners(boxes.size(), 0);
  state.levels.emplace_back(state.geometry.domain, state.geometry.periodic, std::move(boxes), owners, 0);
  io::FileChoice choice;
  choice.format = &io::formats().named(format);
  for (const auto& [name, array] : arrays) {
    choice.quantities.push_back(io::quantity_of(name));
    add(state, {.name = choice.quantities.back(), .unit = units.at(name)}, array);
  }
  io::write_snapshot(self, state, choice, path);
}

}  // namespace

void bind_array_files(nb::module_& module) {
  module.def("write_arrays", &write_arrays, nb::arg("path"), nb::arg("format"), nb::arg("arrays"), nb::arg("units"),
             nb::arg("length"), nb::arg("length_unit"), nb::arg("step"), nb::arg("scale_factor").none(),
             nb::arg("attributes"), nb::arg("side"),
             "Writes arrays (z, y, x) of one shape as a plot file whose boxes have at most `side` cells along an axis; "
             "sides x, y, z of the domain in `length_unit`.");
}

}  // namespace sidestream::bindings
