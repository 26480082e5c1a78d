#include "sidestream/amr/flux_register.hpp"

#include <algorithm>

#include "sidestream/core/for_each.hpp"
#include "sidestream/core/symmetric.hpp"

namespace sidestream::amr {

namespace {

using mesh::Box;
using mesh::Field;
using mesh::Hierarchy;
using mesh::Int3;
using mesh::Layout;

Int3 step_along(int axis, int side) {
  Int3 step;
  step[axis] = side == 0 ? -1 : 1;
  return step;
}

/// Whether the next coarser, or the next finer level lies beyond a side of a block.
enum class Beyond { neither, coarser, finer };

Beyond beyond(const Hierarchy& hierarchy, int level, std::int32_t block, int axis, int side) {
  if (hierarchy.geometry(level).domain.extent()[axis] == 1) return Beyond::neither;
  const auto neighbor = hierarchy.forest().neighbor(hierarchy.forest().key(level, block), step_along(axis, side));
  if (neighbor == -1) return Beyond::coarser;
  const bool is_finer = neighbor >= 0 && hierarchy.is_leaf(level, block) && !hierarchy.is_leaf(level, neighbor);
  return is_finer ? Beyond::finer : Beyond::neither;
}

/// The faces of a side, by the cell above each.
Box faces_of(Box box, int axis, int side) {
  box.lo[axis] = side == 0 ? box.lo[axis] : box.hi[axis];
  box.hi[axis] = box.lo[axis] + 1;
  return box;
}

/// The layer of cells inside a side.
Box layer_inside(Box box, int axis, int side) {
  side == 0 ? box.hi[axis] = box.lo[axis] + 1 : box.lo[axis] = box.hi[axis] - 1;
  return box;
}

/// The layer of coarse cells outside a side of a fine block, wrapped into the domain.
Box layer_outside(const Box& fine, int axis, int side, RefinedAxes axes, const Box& coarse_domain) {
  Box layer = coarsened(fine, axes);
  const std::int32_t at = side == 0 ? layer.lo[axis] - 1 : layer.hi[axis];
  layer.lo[axis] = mesh::wrapped(at, coarse_domain.extent()[axis]);
  layer.hi[axis] = layer.lo[axis] + 1;
  return layer;
}

}  // namespace

SideFluxes::SideFluxes(const Hierarchy& hierarchy, int level, int rank, int components) : components_(components) {
  const Layout& layout = hierarchy.layout(level);
  std::ptrdiff_t total = 0;
  for (const std::int32_t block : layout.boxes_of(rank)) {
    auto& sides = sides_.emplace_back();
    for (int axis = 0; axis < 3; ++axis)
      for (int side = 0; side < 2; ++side) {
        if (beyond(hierarchy, level, block, axis, side) == Beyond::neither) continue;
        const Box faces = faces_of(layout.box(block), axis, side);
        sides[static_cast<std::size_t>(axis)][static_cast<std::size_t>(side)] = {total, faces};
        total += faces.volume() * components;
      }
  }
  data_.resize(static_cast<std::size_t>(total));
}

SideViews SideFluxes::views(int block) {
  SideViews views;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (std::size_t side = 0; side < 2; ++side) {
      const auto& [offset, faces] = sides_[static_cast<std::size_t>(block)][axis][side];
      if (offset < 0) continue;
      const Int3 n = faces.extent();
      views[axis][side] = {data_.data() + offset, faces.lo.x, faces.lo.y, faces.lo.z, n.x, n.y, n.z, components_};
    }
  return views;
}

/// All sides normal to one axis. Boxes of both layouts are layers of coarse cells that are to be corrected.
struct FluxRegister::Axis {
  struct Side {
    int block = 0, side = 0, entry = 0;  ///< local block of the level, 0 low or 1 high, local box of the layout
  };

  Axis(const comm::Communicator& comm, const Hierarchy& hierarchy, int coarse_level, int components, int its_axis)
      : axis(its_axis),
        cell_size(hierarchy.geometry(coarse_level).cell_size(its_axis)),
        fine(sides_of(comm, hierarchy, coarse_level + 1, Beyond::coarser, fine_sides)),
        coarse(sides_of(comm, hierarchy, coarse_level, Beyond::finer, coarse_sides)),
        to_coarse(comm, fine, coarse),
        fine_sum(fine, comm.rank(), components),
        coarse_sum(coarse, comm.rank(), components),
        difference(coarse, comm.rank(), components),
        sides_of_block(hierarchy.layout(coarse_level).boxes_of(comm.rank()).size()) {
    for (const Side& side : coarse_sides) sides_of_block[static_cast<std::size_t>(side.block)].push_back(side);
  }

  Layout sides_of(const comm::Communicator& comm, const Hierarchy& hierarchy, int level, Beyond wanted,
                  std::vector<Side>& own) const {
    const Layout& layout = hierarchy.layout(level);
    const RefinedAxes axes = refined_axes(hierarchy.geometry(0).domain);
    const int coarse_level = wanted == Beyond::coarser ? level - 1 : level;
    const Box& domain = hierarchy.geometry(coarse_level).domain;
    std::vector<Box> boxes;
    std::vector<std::int32_t> owners;
    int entry = 0, local = 0;
    for (std::int32_t block = 0; block < layout.size(); ++block) {
      const bool is_own = layout.owner(block) == comm.rank();
      for (int side = 0; side < 2; ++side) {
        if (beyond(hierarchy, level, block, axis, side) != wanted) continue;
        boxes.push_back(wanted == Beyond::coarser ? layer_outside(layout.box(block), axis, side, axes, domain)
                                                  : layer_inside(layout.box(block), axis, side));
        owners.push_back(layout.owner(block));
        if (is_own) own.push_back({local, side, entry++});
      }
      if (is_own) ++local;
    }
    return {domain, layout.periodic(), std::move(boxes), std::move(owners), coarse_level};
  }

  int axis;
  double cell_size;
  std::vector<Side> fine_sides, coarse_sides;
  Layout fine, coarse;
  redistribute::Redistribution to_coarse;
  Field<double> fine_sum, coarse_sum, difference;
  std::vector<std::vector<Side>> sides_of_block;
};

FluxRegister::FluxRegister(const comm::Communicator& comm, const Hierarchy& hierarchy, int coarse_level, int components)
    : components_(components), refined_(refined_axes(hierarchy.geometry(0).domain)) {
  for (int axis = 0; axis < 3; ++axis)
    if (refined_[static_cast<std::size_t>(axis)]) axes_.emplace_back(comm, hierarchy, coarse_level, components, axis);
}

FluxRegister::~FluxRegister() = default;
FluxRegister::FluxRegister(FluxRegister&&) noexcept = default;

void FluxRegister::reset() {
  for (Axis& axis : axes_) {
    std::ranges::fill(axis.fine_sum.all(), 0.0);
    std::ranges::fill(axis.coarse_sum.all(), 0.0);
  }
}

void FluxRegister::add_coarse(SideFluxes& fluxes, double dt) {
  for (Axis& axis : axes_)
    for (const auto& [block, side, entry] : axis.coarse_sides) {
      const auto flux = fluxes.views(block)[static_cast<std::size_t>(axis.axis)][static_cast<std::size_t>(side)];
      const auto sum = axis.coarse_sum.view(entry);
      const Int3 above = side == 0 ? Int3{} : step_along(axis.axis, 1);
      for (int c = 0; c < components_; ++c)
        core::for_each_cell(axis.coarse_sum.box(entry), [=](int k, int j, int i) {
          sum(c, k, j, i) += dt * flux(c, k + above.z, j + above.y, i + above.x);
        });
    }
}

void FluxRegister::add_fine(SideFluxes& fluxes, double dt) {
  for (Axis& axis : axes_)
    for (const auto& [block, side, entry] : axis.fine_sides) {
      const auto flux = fluxes.views(block)[static_cast<std::size_t>(axis.axis)][static_cast<std::size_t>(side)];
      const auto sum = axis.fine_sum.view(entry);
      // The faces are numbered on the fine level, along the axis by one number: that of the first of the layer.
      std::array<int, 3> half{refined_[0], refined_[1], refined_[2]};
      half[static_cast<std::size_t>(axis.axis)] = 0;
      const auto [x, y, z] = half;
      const Box layer = axis.fine_sum.box(entry);
      const Int3 from = fluxes.faces(block, axis.axis, side).lo;
      for (int c = 0; c < components_; ++c)
        core::for_each_cell(layer, [=](int K, int J, int I) {
          const int k = from.z + ((K - layer.lo.z) << z), j = from.y + ((J - layer.lo.y) << y),
                    i = from.x + ((I - layer.lo.x) << x);
          // The two diagonals: exchanging or mirroring the axes of the side keeps their sum.
          const double first = flux(c, k, j, i) + flux(c, k + z, j + y, i + x);
          const double second =
              x == 0 ? flux(c, k, j + y, i) + flux(c, k + z, j, i) : flux(c, k, j, i + x) + flux(c, k + z, j + y, i);
          sum(c, K, J, I) += dt * (0.25 * (first + second));
        });
    }
}

void FluxRegister::apply(Field<double>& coarse, const Corrected& corrected) {
  for (Axis& axis : axes_) {
    axis.to_coarse.apply(axis.fine_sum, axis.difference);
    const auto sum = axis.coarse_sum.all();
    const auto difference = axis.difference.all();
    for (std::size_t n = 0; n < sum.size(); ++n) difference[n] = (difference[n] - sum[n]) / axis.cell_size;
  }
  for (int b = 0; b < coarse.blocks(); ++b) correct_block(coarse, b, corrected);
}

// A cell at an edge or corner of its block is corrected once, by what comes along all axes, so that their order does
// not matter.
void FluxRegister::correct_block(Field<double>& coarse, int block, const Corrected& corrected) const {
  const auto state = coarse.view(block);
  const auto change = [&](const Axis& axis, int c, Int3 cell) {
    for (const auto& [b, side, entry] : axis.sides_of_block[static_cast<std::size_t>(block)])
      if (axis.difference.box(entry).contains(cell))
        return (side == 0 ? 1.0 : -1.0) * axis.difference.view(entry)(c, cell.z, cell.y, cell.x);
    return 0.0;
  };
  const auto is_in = [&](const Axis& axis, Int3 cell) {
    return std::ranges::any_of(axis.sides_of_block[static_cast<std::size_t>(block)],
                               [&](const Axis::Side& side) { return axis.difference.box(side.entry).contains(cell); });
  };
  for (std::size_t a = 0; a < axes_.size(); ++a)
    for (const Axis::Side& side : axes_[a].sides_of_block[static_cast<std::size_t>(block)])
      core::for_each_cell(axes_[a].difference.box(side.entry), [&](int k, int j, int i) {
        const Int3 cell{i, j, k};
        for (std::size_t before = 0; before < a; ++before)
          if (is_in(axes_[before], cell)) return;
        for (int c = 0; c < components_; ++c) {
          std::array<double, 3> changes{};
          for (std::size_t n = a; n < axes_.size(); ++n) changes[n] = change(axes_[n], c, cell);
          state(c, k, j, i) += core::symmetric_sum(changes[0], changes[1], changes[2]);
        }
        if (corrected) corrected(block, cell);
      });
}

}  // namespace sidestream::amr
