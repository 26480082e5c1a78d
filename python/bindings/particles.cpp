#include <nanobind/stl/array.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "bindings.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"

namespace sidestream::bindings {

namespace {

using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Positions = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;  // (axis, particle)

nb::object friends_of_friends(const Ids& ids, const Positions& positions, const std::array<double, 3>& box_size,
                              double linking_length, bool is_periodic) {
  std::vector<std::int64_t> groups;
  {
    const nb::gil_scoped_release unlocked;
    std::array<std::span<const double>, 3> axes;
    for (std::size_t axis = 0; axis < 3; ++axis)
      axes[axis] = {positions.data() + axis * positions.shape(1), positions.shape(1)};
    groups = analysis::friends_of_friends({ids.data(), ids.shape(0)}, axes, box_size,
                                          {is_periodic, is_periodic, is_periodic}, linking_length);
  }
  return array_of(std::move(groups));
}

}  // namespace

void bind_particles(nb::module_& module) {
  module.def("friends_of_friends", &friends_of_friends, nb::arg("ids"), nb::arg("positions"), nb::arg("box_size"),
             nb::arg("linking_length"), nb::arg("periodic"),
             "The smallest id in the friends-of-friends group of each particle; `positions` are (3, particles).");
}

}  // namespace sidestream::bindings
