#include <nanobind/stl/string.h>

#include <memory>
#include <string>

#include "bindings.hpp"
#include "sidestream/io/nyx_plotfile.hpp"

namespace sidestream::bindings {

namespace {

// A field of the coarsest level in one piece, (z, y, x).
nb::object read_field(const io::NyxPlotfile& file, const std::string& name) {
  const mesh::Layout whole = mesh::split(file.geometry().domain, {1, 1, 1}, file.geometry().periodic);
  std::unique_ptr<mesh::Field<double>> field;
  {
    const nb::gil_scoped_release unlocked;
    field = std::make_unique<mesh::Field<double>>(file.read_field(name, whole, 0));
  }
  const mesh::Int3 n = whole.domain().extent();
  double* const data = field->all().data();
  return array_of(std::move(field), data,
                  {static_cast<std::size_t>(n.z), static_cast<std::size_t>(n.y), static_cast<std::size_t>(n.x)});
}

nb::dict read_plotfile(const std::string& path) {
  const io::NyxPlotfile file(path);
  nb::dict fields;
  for (const std::string& name : file.fields()) fields[name.c_str()] = read_field(file, name);
  const auto& length = file.geometry().length;
  nb::dict content;
  content["fields"] = fields;
  content["length"] = nb::make_tuple(length[0], length[1], length[2]);
  content["time"] = file.time();
  content["step"] = file.step();
  content["scale_factor"] = file.scale_factor();
  return content;
}

}  // namespace

void bind_io(nb::module_& module) {
  module.def("read_plotfile", &read_plotfile, nb::arg("path"),
             "Fields (z, y, x) of the coarsest level of a plot file in the layout of Nyx, and its time.");
}

}  // namespace sidestream::bindings
