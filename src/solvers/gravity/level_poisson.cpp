#include "solvers/gravity/level_poisson.hpp"

#include <algorithm>
#include <limits>

#include "sidestream/core/for_each.hpp"

namespace sidestream::solvers {

namespace {

using core::View4;
using mesh::Box;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;

using Weights = std::array<double, 3>;

// The box beside box `index` of `layout` across a side of `axis`, or -1.
std::int32_t box_beside(const Layout& layout, std::int32_t index, int axis, bool is_high) {
  const Box& box = layout.box(index);
  Int3 cell = box.lo;
  cell[axis] = is_high ? box.hi[axis] : box.lo[axis] - 1;
  const auto cells = layout.domain().hi[axis];
  if (cell[axis] < 0 || cell[axis] >= cells) {
    if (!layout.periodic()[static_cast<std::size_t>(axis)]) return -1;
    cell[axis] = mesh::wrapped(cell[axis], cells);
  }
  return layout.find(cell);
}

[[gnu::always_inline]] inline double sum_of_neighbors(View4<const double> phi, const Weights& w, int k, int j, int i) {
  return w[0] * (phi(k, j, i - 1) + phi(k, j, i + 1)) + w[1] * (phi(k, j - 1, i) + phi(k, j + 1, i)) +
         w[2] * (phi(k - 1, j, i) + phi(k + 1, j, i));
}

[[gnu::always_inline]] inline double laplacian(View4<const double> phi, const Weights& w, int k, int j, int i) {
  return sum_of_neighbors(phi, w, k, j, i) - 2.0 * (w[0] + w[1] + w[2]) * phi(k, j, i);
}

// Relaxes the cells with i + j + k + color even.
void relax_color(const Box& box, View4<double> phi, View4<const double> rhs, const Weights& w, double over_relaxation,
                 int color) {
  const double factor = over_relaxation / (2.0 * (w[0] + w[1] + w[2]));
  const double rest = 1.0 - over_relaxation;
  core::for_each_row(box, [=](int k, int j) {
    for (int i = box.lo.x + ((box.lo.x + j + k + color) & 1); i < box.hi.x; i += 2)
      phi(k, j, i) = rest * phi(k, j, i) + factor * (sum_of_neighbors(phi, w, k, j, i) - rhs(k, j, i));
  });
}

}  // namespace

LevelPoisson::LevelPoisson(const comm::Communicator& comm, const Layout& layout, const std::array<double, 3>& cell_size,
                           SideRule rule)
    : layout_(layout), cell_size_(cell_size), rule_(rule), ghosts_(comm, layout, 1) {
  for (std::size_t axis = 0; axis < 3; ++axis) weight_[axis] = 1.0 / (cell_size[axis] * cell_size[axis]);
  find_open_sides(comm.rank());
}

void LevelPoisson::find_open_sides(int rank) {
  const auto own = layout_.boxes_of(rank);
  std::size_t cells = 0;
  for (std::size_t b = 0; b < own.size(); ++b)
    for (int axis = 0; axis < 3; ++axis)
      for (const bool is_high : {false, true}) {
        if (box_beside(layout_, own[b], axis, is_high) >= 0) continue;
        Box ghosts = layout_.box(own[b]);
        (is_high ? ghosts.lo : ghosts.hi)[axis] = is_high ? ghosts.hi[axis] : ghosts.lo[axis];
        is_high ? ++ghosts.hi[axis] : --ghosts.lo[axis];
        sides_.push_back({static_cast<int>(b), axis, is_high, ghosts, cells});
        cells += static_cast<std::size_t>(ghosts.volume());
      }
  values_.assign(cells, 0.0);
}

std::span<double> LevelPoisson::values(const OpenSide& side) {
  return std::span(values_).subspan(side.first, static_cast<std::size_t>(side.ghosts.volume()));
}

void LevelPoisson::fill_ghosts(Field<double>& phi) const {
  ghosts_.fill(phi);
  extrapolate_sides(phi);
}

void LevelPoisson::extrapolate_sides(Field<double>& phi) const {
  for (const OpenSide& side : sides_) {
    const View4<double> view = phi.view(side.block);
    const std::array<std::ptrdiff_t, 3> strides{1, view.stride_y(), view.stride_z()};
    const std::ptrdiff_t inward = strides[static_cast<std::size_t>(side.axis)] * (side.is_high ? -1 : 1);
    const double* value = values_.data() + side.first;
    core::for_each_row(side.ghosts, [&, near = rule_.near, far = rule_.far](int k, int j) {
      double* ghost = &view(k, j, side.ghosts.lo.x);
      const int count = side.ghosts.hi.x - side.ghosts.lo.x;
      for (int i = 0; i < count; ++i) ghost[i] = value[i] + near * ghost[i + inward] + far * ghost[i + 2 * inward];
      value += count;
    });
  }
}

void LevelPoisson::relax(Field<double>& phi, const Field<double>& rhs, int sweeps, double over_relaxation) const {
  for (int half_sweep = 0; half_sweep < 2 * sweeps; ++half_sweep) {
    if (half_sweep > 0) fill_ghosts(phi);
    for (int b = 0; b < phi.blocks(); ++b)
      relax_color(phi.box(b), phi.view(b), rhs.view(b), weight_, over_relaxation, half_sweep & 1);
  }
}

void LevelPoisson::residual(const Field<double>& phi, const Field<double>& rhs, Field<double>& out) const {
  for (int b = 0; b < phi.blocks(); ++b) {
    const auto potential = phi.view(b);
    const auto source = rhs.view(b);
    const auto rest = out.view(b);
    core::for_each_cell(phi.box(b), [=, w = weight_](int k, int j, int i) {
      rest(k, j, i) = source(k, j, i) - laplacian(potential, w, k, j, i);
    });
  }
}

void LevelPoisson::add_laplacian(const Field<double>& phi, int b, Field<double>& rhs) const {
  const auto potential = phi.view(b);
  const auto sum = rhs.view(b);
  core::for_each_cell(phi.box(b),
                      [=, w = weight_](int k, int j, int i) { sum(k, j, i) += laplacian(potential, w, k, j, i); });
}

std::int32_t width_of(const Layout& layout) {
  std::int32_t width = std::numeric_limits<std::int32_t>::max();
  for (int axis = 0; axis < 3; ++axis) {
    const std::int32_t all = layout.domain().hi[axis];
    std::int32_t longest = 0;
    bool has_start = false;
    for (std::int32_t start = 0; start < layout.size(); ++start) {
      if (box_beside(layout, start, axis, false) >= 0) continue;
      has_start = true;
      std::int32_t run = 0;
      for (std::int32_t box = start; box >= 0; box = box_beside(layout, box, axis, true))
        run += layout.box(box).extent()[axis];
      longest = std::max(longest, run);
    }
    width = std::min(width, has_start ? longest : all);
  }
  return width;
}

}  // namespace sidestream::solvers
