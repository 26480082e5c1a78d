#include "sims/lbm/lbm_quantities.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::LatticeComponents, solvers::LatticeFlow, solvers::LatticeKind, solvers::OfGradient;

/// The components of what a flow measures.
constexpr int density = 0, velocity = 1;
constexpr std::array<std::string_view, 3> axis_names{"x", "y", "z"};
constexpr std::string_view velocity_prefix = "velocity_";

// A component of this rank's box in tiles, each a part of one view: cells have their global indices in both.
template <typename T>
mesh::FieldView<const T> in_tiles(const mesh::FieldView<const T>& box, int component, const mesh::Layout& tiles,
                                  int rank) {
  std::vector<core::View4<const T>> blocks;
  for (std::size_t n = 0; n < tiles.boxes_of(rank).size(); ++n) blocks.push_back(box.view(0).component(component));
  return {tiles, rank, blocks, box.table(), box.blocks() > 0 ? box.ghosts() : mesh::Ghosts(0)};
}

/// What a snapshot shows of a flow, measured when somebody first asks.
template <typename Real>
class Views {
 public:
  Views(const LatticeFlow<Real>& flow, const mesh::Snapshot& snapshot)
      : flow_(&flow), tiles_(snapshot.levels.front()), rank_(snapshot.rank) {}

  mesh::AnyField population(int direction) const { return in_tiles(flow_->populations(), direction, tiles_, rank_); }
  mesh::AnyField component(int number) {
    LatticeComponents wanted{};
    wanted[static_cast<std::size_t>(number)] = true;
    measured_ = flow_->measure(wanted);
    return in_tiles(measured_, number, tiles_, rank_);
  }
  void fill_barriers(const mesh::Box& box, const core::View4<double>& out) const {
    core::for_each_cell(box, [=, mask = flow_->barriers().view(0)](int k, int j, int i) {
      out(k, j, i) = static_cast<double>(mask(k, j, i));
    });
  }
  // After all components of the velocity: what of these a derivation is given has no cells beside its box, the view
  // that they were made of has.
  void fill_from_gradients(OfGradient what, const mesh::Box& box, const core::View4<double>& out) const {
    flow_->differentiate(measured_, what, box, out);
  }

 private:
  const LatticeFlow<Real>* flow_;
  mesh::Layout tiles_;
  int rank_;
  mesh::FieldView<const double> measured_;
};

int axes_of(LatticeKind lattice) {
  return lattice == LatticeKind::d2q9 ? 2 : 3;
}

std::vector<std::string> velocity_names(LatticeKind lattice) {
  std::vector<std::string> names;
  for (int axis = 0; axis < axes_of(lattice); ++axis)
    names.push_back(fmt::format("{}{}", velocity_prefix, axis_names[static_cast<std::size_t>(axis)]));
  return names;
}

void length_of_vectors(const mesh::Box& box, std::span<const core::View4<const double>> of,
                       const core::View4<double>& out) {
  core::for_each_cell(box, [&](int k, int j, int i) {
    double sum = 0.0;
    for (const auto& component : of) sum += component(k, j, i) * component(k, j, i);
    out(k, j, i) = std::sqrt(sum);
  });
}

}  // namespace

std::string population_name(int direction) {
  return fmt::format("f{}", direction);
}

LatticeComponents components_for(LatticeKind lattice, const std::vector<std::string>& names) {
  LatticeComponents wanted{};
  const auto want = [&](std::size_t component) { wanted[component] = true; };
  const auto want_velocity = [&] {
    for (int axis = 0; axis < axes_of(lattice); ++axis) want(static_cast<std::size_t>(velocity + axis));
  };
  for (const std::string& name : names) {
    const std::string_view of = name;
    const auto axis = std::ranges::find(axis_names, of.substr(std::min(of.size(), velocity_prefix.size())));
    const bool is_stored = of == barrier_quantity || (of.size() > 1 && of[0] == 'f' && of[1] >= '0' && of[1] <= '9');
    if (is_stored) continue;
    if (of == "gas_density") {
      want(density);
    } else if (of.starts_with(velocity_prefix) && axis != axis_names.end()) {
      want(static_cast<std::size_t>(velocity + (axis - axis_names.begin())));
    } else {
      want_velocity();
      // What a configuration derives may follow from anything.
      if (of != "speed" && of != "q_criterion" && !of.starts_with("vorticity")) want(density);
    }
  }
  return wanted;
}

std::vector<mesh::Quantity> lbm_quantities(LatticeKind lattice) {
  std::vector<mesh::Quantity> all;
  const solvers::LatticeTable& table = solvers::table_of(lattice);
  for (int q = 0; q < table.directions(); ++q) {
    const mesh::Int3 c = table.velocity[static_cast<std::size_t>(q)];
    all.push_back({population_name(q), "1",
                   fmt::format("population of the velocity ({}, {}, {}), less its weight", c.x, c.y, c.z), true});
  }
  all.push_back({barrier_quantity, "1", "number of the barrier that a cell belongs to; 0: fluid", true});
  all.push_back({"gas_density", "1", "density of the fluid, 1 in barriers"});
  for (const std::string& name : velocity_names(lattice)) all.push_back({name, "1", "velocity in cells a step"});
  all.push_back({"speed", "1", "length of the velocity"});
  if (lattice == LatticeKind::d2q9)
    all.push_back({"vorticity", "1", "curl of the velocity, along z"});
  else
    for (const std::string_view axis : axis_names)
      all.push_back({fmt::format("vorticity_{}", axis), "1", fmt::format("curl of the velocity along {}", axis)});
  if (lattice == LatticeKind::d3q19) all.push_back({"vorticity_magnitude", "1", "length of the curl of the velocity"});
  all.push_back({"q_criterion", "1", "(|rotation|^2 - |strain|^2) / 2: positive in vortices"});
  return all;
}

template <typename Real>
void add_lbm(const LatticeFlow<Real>& flow, mesh::Snapshot& snapshot) {
  const auto views = std::make_shared<Views<Real>>(flow, snapshot);
  const std::vector<mesh::Quantity> all = lbm_quantities(flow.lattice());
  auto next = all.begin();
  const auto add = [&](auto provide) { snapshot.add(*next++, [views, provide](int) { return provide(*views); }); };
  for (int q = 0; q < solvers::table_of(flow.lattice()).directions(); ++q)
    add([q](Views<Real>& of) { return of.population(q); });
  snapshot.add_computed(
      *next++, [views](int, const mesh::Box& box, const core::View4<double>& out) { views->fill_barriers(box, out); });
  add([](Views<Real>& of) { return of.component(density); });
  for (int axis = 0; axis < axes_of(flow.lattice()); ++axis)
    add([axis](Views<Real>& of) { return of.component(velocity + axis); });
  snapshot.add_derived(*next++, velocity_names(flow.lattice()), length_of_vectors);
  const auto add_gradients = [&](std::initializer_list<OfGradient> all_of) {
    for (const OfGradient what : all_of)
      snapshot.add_derived(*next++, velocity_names(flow.lattice()),
                           [views, what](const mesh::Box& box, const auto&, const core::View4<double>& out) {
                             views->fill_from_gradients(what, box, out);
                           });
  };
  using enum OfGradient;
  if (flow.lattice() == LatticeKind::d2q9)
    add_gradients({vorticity_z, q_criterion});
  else
    add_gradients({vorticity_x, vorticity_y, vorticity_z, vorticity_magnitude, q_criterion});
}

template void add_lbm(const LatticeFlow<float>&, mesh::Snapshot&);
template void add_lbm(const LatticeFlow<double>&, mesh::Snapshot&);

}  // namespace sidestream::sims
