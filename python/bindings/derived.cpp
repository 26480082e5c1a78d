#include "sidestream/mesh/derived.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::bindings {

namespace {

// What follows from `of`, whole arrays (z, y, x) of one shape in the order of `derived.of()`, cell by cell.
nb::object derive(const mesh::DerivedQuantity& derived, const std::vector<FieldArray<double>>& of, double scale_factor,
                  double gamma) {
  core::require(of.size() == derived.of().size() && !of.empty(), "one array for each quantity");
  std::array<int, 3> n{};
  for (std::size_t axis = 0; axis < 3; ++axis) n[axis] = static_cast<int>(of.front().shape(2 - axis));
  std::vector<core::View4<const double>> views;
  for (const FieldArray<double>& array : of) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      core::require(array.shape(axis) == of.front().shape(axis), "arrays of one shape");
    views.emplace_back(array.data(), array.stride(1), array.stride(0), 0, 1);
  }
  const mesh::Box box = mesh::domain_of({n[0], n[1], n[2]});
  auto found = std::make_unique<mesh::Field<double>>(mesh::split(box, {1, 1, 1}), 0);
  {
    const nb::gil_scoped_release unlocked;
    derived.fill(box, views, {scale_factor, gamma}, found->view(0));
  }
  double* const data = found->all().data();
  return array_of(std::move(found), data, {of.front().shape(0), of.front().shape(1), of.front().shape(2)});
}

}  // namespace

void bind_derived(nb::module_& module) {
  nb::class_<mesh::DerivedQuantity>(module, "DerivedQuantity", "A quantity that follows from others cell by cell.")
      .def(
          "__init__",
          [](mesh::DerivedQuantity* place, const std::string& name, const std::string& expression) {
            if (const std::string problem = mesh::problem_of_name(name); !problem.empty())
              throw core::Error(problem, "", "use letters, digits and `_`, and no word that means something else");
            new (place) mesh::DerivedQuantity({name, ""}, core::Node(expression));
          },
          nb::arg("name"), nb::arg("expression"))
      .def_prop_ro("of", &mesh::DerivedQuantity::of, "The names of the quantities that it follows from.")
      .def("check", &mesh::DerivedQuantity::check, nb::arg("quantities"), nb::arg("has_redshift"),
           "An error unless all that the expression names is there.")
      .def("__call__", &derive, nb::arg("of"), nb::arg("scale_factor"), nb::arg("gamma"),
           "Its cells, from arrays (z, y, x) of the others in the order of `of`.");
}

}  // namespace sidestream::bindings
