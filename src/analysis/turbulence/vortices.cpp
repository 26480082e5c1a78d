#include "sidestream/analysis/vortices.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "analysis/at.hpp"
#include "analysis/turbulence/flow.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::analysis {

namespace {

using Cells = mesh::Field<double>;

bool has_flow(const mesh::Snapshot& snapshot) {
  if (snapshot.is_refined()) return false;
  int axes = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (snapshot.geometry.domain.extent()[axis] > 1) {
      ++axes;
      if (!snapshot.geometry.periodic[at(axis)]) return false;
    }
  return axes >= 2 && std::ranges::all_of(velocity_names, [&](const char* name) { return snapshot.has(name); });
}

Flow flow_in(const comm::Communicator& comm, const mesh::Snapshot& snapshot) {
  std::array<ScalarView, 3> velocity;
  for (std::size_t c = 0; c < 3; ++c) {
    velocity[c] = snapshot.field(velocity_names[c]);
    mean(comm, velocity[c], velocity_names[c]);
  }
  return {comm, velocity, snapshot.geometry};
}

// to += factor a b
void add_product(double factor, const Cells& a, const Cells& b, Cells& to) {
  for (int block = 0; block < to.blocks(); ++block)
    core::for_each_cell(to.box(block),
                        [factor, out = to.view(block), x = a.view(block), y = b.view(block)](int k, int j, int i) {
                          out(k, j, i) += factor * (x(k, j, i) * y(k, j, i));
                        });
}

Cells zero_like(const Cells& field, int rank) {
  return Cells(field.layout(), rank);
}

Cells magnitude(const comm::Communicator& comm, const Flow& flow) {
  const Cells x = flow.vorticity(0);
  Cells sum = zero_like(x, comm.rank());
  add_product(1.0, x, x, sum);
  for (int axis = 1; axis < 3; ++axis) {
    const Cells along = flow.vorticity(axis);
    add_product(1.0, along, along, sum);
  }
  for (int b = 0; b < sum.blocks(); ++b)
    core::for_each_cell(sum.box(b),
                        [out = sum.view(b)](int k, int j, int i) { out(k, j, i) = std::sqrt(out(k, j, i)); });
  return sum;
}

// - (d u_i / d x_j) (d u_j / d x_i) / 2, which is (|rotation|^2 - |strain|^2) / 2
Cells second_invariant(const comm::Communicator& comm, const Flow& flow) {
  const Cells first = flow.derivative(0, 0);
  Cells sum = zero_like(first, comm.rank());
  add_product(-0.5, first, first, sum);
  for (int component = 0; component < 3; ++component)
    for (int axis = 0; axis <= component; ++axis) {
      if (component == 0) continue;
      const Cells gradient = flow.derivative(component, axis);
      if (axis == component)
        add_product(-0.5, gradient, gradient, sum);
      else
        add_product(-1.0, gradient, flow.derivative(axis, component), sum);
    }
  return sum;
}

}  // namespace

Cells vorticity_magnitude(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity,
                          const mesh::Geometry& geometry) {
  return magnitude(comm, Flow(comm, velocity, geometry));
}

Cells q_criterion(const comm::Communicator& comm, const std::array<ScalarView, 3>& velocity,
                  const mesh::Geometry& geometry) {
  return second_invariant(comm, Flow(comm, velocity, geometry));
}

void add_vortex_quantities(const comm::Communicator& comm, mesh::Snapshot& snapshot, std::span<const std::string> but) {
  if (!has_flow(snapshot)) return;
  const FlowUnits units(snapshot);
  const auto add = [&](mesh::Quantity quantity, auto compute) {
    if (snapshot.has(quantity.name) || std::ranges::find(but, quantity.name) != but.end()) return;
    snapshot.add(std::move(quantity), [&comm, &snapshot, compute](int) -> mesh::AnyField {
      return std::make_shared<const Cells>(compute(flow_in(comm, snapshot)));
    });
  };
  for (int axis = 0; axis < 3; ++axis)
    add({std::string("vorticity_") + "xyz"[axis], units.of(1, -1),
         std::string("curl of the velocity along ") + "xyz"[axis]},
        [axis](const Flow& flow) { return flow.vorticity(axis); });
  add({"vorticity_magnitude", units.of(1, -1), "length of the curl of the velocity"},
      [&comm](const Flow& flow) { return magnitude(comm, flow); });
  add({"q_criterion", units.of(2, -2), "(|rotation|^2 - |strain|^2) / 2: positive in vortices"},
      [&comm](const Flow& flow) { return second_invariant(comm, flow); });
}

}  // namespace sidestream::analysis
