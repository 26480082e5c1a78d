#include <nanobind/stl/string.h>

#include <memory>
#include <string>

#include "bindings.hpp"
#include "sidestream/io/nyx_plotfile.hpp"

namespace sidestream::bindings {

namespace {

// (z, y, x) of the whole domain at the resolution of the level.
nb::object covering_grid(const std::string& path, const std::string& field, int level) {
  std::unique_ptr<mesh::Field<double>> values;
  {
    const nb::gil_scoped_release unlocked;
    const io::NyxPlotfile file(path);
    const mesh::Layout whole =
        mesh::split(file.levels().at(static_cast<std::size_t>(level)).layout.domain(), {1, 1, 1});
    values = std::make_unique<mesh::Field<double>>(file.read_covering(field, whole, 0, level));
  }
  const mesh::Int3 n = values->layout().domain().extent();
  double* const data = values->all().data();
  return array_of(std::move(values), data,
                  {static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y), static_cast<std::size_t>(n.x)});
}

// Six numbers a box: x, y, z of its first cell and of its end.
nb::object boxes(const std::string& path, int level) {
  const io::NyxPlotfile file(path);
  std::vector<std::int32_t> corners;
  for (const mesh::Box& box : file.levels().at(static_cast<std::size_t>(level)).layout.boxes())
    corners.insert(corners.end(), {box.lo.x, box.lo.y, box.lo.z, box.hi.x, box.hi.y, box.hi.z});
  return array_of(std::move(corners));
}

}  // namespace

void bind_io(nb::module_& module) {
  module.def("covering_grid", &covering_grid, nb::arg("path"), nb::arg("field"), nb::arg("level"),
             "A field (z, y, x) of a plot file on the whole domain at the resolution of a level.");
  module.def("plotfile_boxes", &boxes, nb::arg("path"), nb::arg("level"),
             "Six numbers a box of a level of a plot file: x, y, z of its first cell and of its end.");
}

}  // namespace sidestream::bindings
