#include "sims/run/edited_cells.hpp"

#include <cmath>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/on_level.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::sims {

namespace {

mesh::Int3 cells_of_root_cell(const mesh::Hierarchy& hierarchy, int level) {
  const mesh::Int3 root = hierarchy.geometry(0).domain.extent(), own = hierarchy.geometry(level).domain.extent();
  return {own.x / root.x, own.y / root.y, own.z / root.z};
}

// The boxes of a level in cells of level 0, as far as they reach: those of fine levels may lie in one cell.
mesh::Layout on_root(const mesh::Hierarchy& hierarchy, int level) {
  const mesh::Int3 factor = cells_of_root_cell(hierarchy, level);
  const mesh::Layout& layout = hierarchy.layout(level);
  std::vector<mesh::Box> boxes;
  for (mesh::Box box : layout.boxes()) {
    for (int axis = 0; axis < 3; ++axis) {
      box.lo[axis] /= factor[axis];
      box.hi[axis] = (box.hi[axis] + factor[axis] - 1) / factor[axis];
    }
    boxes.push_back(box);
  }
  return {hierarchy.geometry(0).domain,
          layout.periodic(),
          std::move(boxes),
          {layout.owners().begin(), layout.owners().end()}};
}

}  // namespace

EditedCells::EditedCells(const comm::Communicator& comm, const couple::RegionEdit& edit,
                         const mesh::Hierarchy& hierarchy)
    : rank_(comm.rank()), edit_(&edit), hierarchy_(&hierarchy) {
  if (!edit.values) return;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    mesh::Field<double>& here = values_.emplace_back(on_root(hierarchy, level), comm.rank());
    redistribute::Redistribution(comm, edit.values->layout(), here.layout(), redistribute::Strategy::automatic,
                                 {.within = edit.cells})
        .apply(*edit.values, here);
  }
}

void EditedCells::for_each(const Visit& f) const {
  for (int level = 0; level <= hierarchy_->finest_level(); ++level) {
    const auto own = hierarchy_->layout(level).boxes_of(rank_);
    const mesh::Field<double>* const holds = edit_->holds ? &(*edit_->holds)[static_cast<std::size_t>(level)] : nullptr;
    int leaf = 0;
    for (std::size_t b = 0; b < own.size(); ++b)
      if (hierarchy_->is_leaf(level, own[b])) for_each_in(level, static_cast<int>(b), holds, leaf++, f);
  }
}

void EditedCells::for_each_in(int level, int block, const mesh::Field<double>* holds, int leaf, const Visit& f) const {
  const mesh::Layout& layout = hierarchy_->layout(level);
  const mesh::Int3 factor = cells_of_root_cell(*hierarchy_, level);
  const mesh::Box region = mesh::on_level(edit_->cells, hierarchy_->geometry(0).domain, layout.domain());
  const mesh::Field<double>* const values = values_.empty() ? nullptr : &values_[static_cast<std::size_t>(level)];
  const mesh::Box& box = layout.box(layout.boxes_of(rank_)[static_cast<std::size_t>(block)]);
  core::for_each_cell(intersection(region, box), [&](int k, int j, int i) {
    if (holds != nullptr && holds->view(leaf)(k, j, i) == 0.0) return;
    const double value =
        values != nullptr ? values->view(block)(k / factor.z, j / factor.y, i / factor.x) : edit_->value;
    if (values == nullptr || !std::isnan(value)) f(level, block, {i, j, k}, value);
  });
}

}  // namespace sidestream::sims
