#include "sims/lbm/lbm_quantities.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <utility>

#include "sidestream/core/for_each.hpp"

namespace sidestream::sims {

namespace {

using mesh::Field;
using solvers::LatticeFlow, solvers::LatticeKind;
using Cells = std::shared_ptr<const Field<double>>;

/// The components of what a flow measures.
constexpr int density = 0, velocity = 1;

// A component of this rank's box in tiles, each a part of one view: cells have their global indices in both.
template <typename T>
mesh::FieldView<const T> in_tiles(const mesh::FieldView<const T>& box, int component, const mesh::Layout& tiles,
                                  int rank, std::shared_ptr<const void> memory) {
  std::vector<core::View4<const T>> blocks;
  for (std::size_t n = 0; n < tiles.boxes_of(rank).size(); ++n) blocks.push_back(box.view(0).component(component));
  return {tiles, rank, blocks, std::move(memory), box.blocks() > 0 ? box.ghosts() : mesh::Ghosts(0)};
}

/// The gradients of a velocity by central differences; 0 in barriers.
struct Gradients {
  core::View4<const double> u;
  mesh::Int3 active;

  double operator()(int component, int axis, int k, int j, int i) const {
    const int x = axis == 0 ? active.x : 0, y = axis == 1 ? active.y : 0, z = axis == 2 ? active.z : 0;
    return 0.5 * (u(velocity + component, k + z, j + y, i + x) - u(velocity + component, k - z, j - y, i - x));
  }
  double vorticity(int axis, int k, int j, int i) const {
    const int next = (axis + 1) % 3, last = (axis + 2) % 3;
    return (*this)(last, next, k, j, i) - (*this)(next, last, k, j, i);
  }
  // Half of |rotation|^2 - |strain|^2 (Hunt, Wray & Moin 1988).
  double second_invariant(int k, int j, int i) const {
    double sum = 0.0;
    for (int a = 0; a < 3; ++a) {
      const double own = (*this)(a, a, k, j, i);
      sum += own * own;
    }
    for (int a = 0; a < 3; ++a)
      for (int b = a + 1; b < 3; ++b) sum += 2.0 * ((*this)(a, b, k, j, i) * (*this)(b, a, k, j, i));
    return -0.5 * sum;
  }
  double length_of_vorticity(int k, int j, int i) const {
    double sum = 0.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double along = vorticity(axis, k, j, i);
      sum += along * along;
    }
    return std::sqrt(sum);
  }
};

/// What a snapshot shows of a flow, measured once, when somebody first asks.
template <typename Real>
class Views {
 public:
  Views(const LatticeFlow<Real>& flow, const mesh::Snapshot& snapshot)
      : flow_(&flow), tiles_(snapshot.levels.front()), rank_(snapshot.rank) {}

  mesh::AnyField population(int direction) const {
    return in_tiles(flow_->populations(), direction, tiles_, rank_, nullptr);
  }
  mesh::AnyField component(int number) {
    return in_tiles(mesh::FieldView<const double>(measured()), number, tiles_, rank_, measured());
  }
  mesh::AnyField barriers() const {
    return made([mask = flow_->barriers().blocks() > 0 ? flow_->barriers().view(0) : core::View4<const std::int32_t>()](
                    int k, int j, int i) { return static_cast<double>(mask(k, j, i)); });
  }
  template <typename F>
  mesh::AnyField of_gradients(F f) {
    const Cells cells = measured();
    if (cells->blocks() == 0) return made([](int, int, int) { return 0.0; });
    const Gradients gradients{cells->view(0), cells->ghosts().layers};
    return made([=, mask = flow_->barriers().view(0)](int k, int j, int i) {
      return mask(k, j, i) > 0 ? 0.0 : f(gradients, k, j, i);
    });
  }

 private:
  const Cells& measured() {
    if (!measured_) measured_ = flow_->measure();
    return measured_;
  }
  template <typename F>
  mesh::AnyField made(F f) const {
    auto cells = std::make_shared<Field<double>>(tiles_, rank_);
    for (int b = 0; b < cells->blocks(); ++b)
      core::for_each_cell(cells->box(b), [=, out = cells->view(b)](int k, int j, int i) { out(k, j, i) = f(k, j, i); });
    return mesh::AnyField(std::shared_ptr<const Field<double>>(std::move(cells)));
  }

  const LatticeFlow<Real>* flow_;
  mesh::Layout tiles_;
  int rank_;
  Cells measured_;
};

int axes_of(LatticeKind lattice) {
  return lattice == LatticeKind::d2q9 ? 2 : 3;
}

const char* const axis_names[] = {"x", "y", "z"};

std::vector<std::string> velocity_names(LatticeKind lattice) {
  std::vector<std::string> names;
  for (int axis = 0; axis < axes_of(lattice); ++axis) names.push_back(std::string("velocity_") + axis_names[axis]);
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
    for (const char* axis : axis_names)
      all.push_back({std::string("vorticity_") + axis, "1", std::string("curl of the velocity along ") + axis});
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
  add([](Views<Real>& of) { return of.barriers(); });
  add([](Views<Real>& of) { return of.component(density); });
  for (int axis = 0; axis < axes_of(flow.lattice()); ++axis)
    add([axis](Views<Real>& of) { return of.component(velocity + axis); });
  snapshot.add_derived(*next++, velocity_names(flow.lattice()), length_of_vectors);
  const auto add_vorticity = [&](int axis) {
    add([axis](Views<Real>& of) {
      return of.of_gradients([axis](const Gradients& g, int k, int j, int i) { return g.vorticity(axis, k, j, i); });
    });
  };
  if (flow.lattice() == LatticeKind::d2q9) {
    add_vorticity(2);
  } else {
    for (int axis = 0; axis < 3; ++axis) add_vorticity(axis);
    add([](Views<Real>& of) {
      return of.of_gradients([](const Gradients& g, int k, int j, int i) { return g.length_of_vorticity(k, j, i); });
    });
  }
  add([](Views<Real>& of) {
    return of.of_gradients([](const Gradients& g, int k, int j, int i) { return g.second_invariant(k, j, i); });
  });
}

template void add_lbm(const LatticeFlow<float>&, mesh::Snapshot&);
template void add_lbm(const LatticeFlow<double>&, mesh::Snapshot&);

}  // namespace sidestream::sims
