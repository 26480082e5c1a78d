#include "sims/run/edited_cells.hpp"

#include <cmath>
#include <utility>

#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/on_level.hpp"
#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::sims {

namespace {

mesh::Int3 cells_of_root_cell(const mesh::Box& domain, const mesh::Layout& layout) {
  const mesh::Int3 root = domain.extent(), own = layout.domain().extent();
  return {own.x / root.x, own.y / root.y, own.z / root.z};
}

// The boxes of a level in cells of level 0, as far as they reach: those of fine levels may lie in one cell.
mesh::Layout on_root(const mesh::Box& domain, const mesh::Layout& layout) {
  const mesh::Int3 factor = cells_of_root_cell(domain, layout);
  std::vector<mesh::Box> boxes;
  for (mesh::Box box : layout.boxes()) {
    for (int axis = 0; axis < 3; ++axis) {
      box.lo[axis] /= factor[axis];
      box.hi[axis] = (box.hi[axis] + factor[axis] - 1) / factor[axis];
    }
    boxes.push_back(box);
  }
  return {domain, layout.periodic(), std::move(boxes), {layout.owners().begin(), layout.owners().end()}};
}

}  // namespace

EditedCells::EditedCells(const comm::Communicator& comm, const couple::RegionEdit& edit, mesh::LevelLayouts levels)
    : rank_(comm.rank()), edit_(&edit), levels_(std::move(levels)) {
  if (!edit.values) return;
  for (const mesh::Layout& layout : levels_.blocks) {
    mesh::Field<double>& here = values_.emplace_back(on_root(levels_.blocks.front().domain(), layout), comm.rank());
    redistribute::Redistribution(comm, edit.values->layout(), here.layout(), redistribute::Strategy::automatic,
                                 {.within = edit.cells})
        .apply(*edit.values, here);
  }
}

void EditedCells::for_each(const Visit& f) const {
  for (std::size_t level = 0; level < levels_.blocks.size(); ++level) {
    const mesh::Layout& blocks = levels_.blocks[level];
    const auto own = blocks.boxes_of(rank_);
    const mesh::Field<double>* const holds = edit_->holds ? &(*edit_->holds)[level] : nullptr;
    int leaf = 0;
    for (std::size_t b = 0; b < own.size(); ++b)
      if (levels_.leaves[level].find(blocks.box(own[b]).lo) >= 0)
        for_each_in(static_cast<int>(level), static_cast<int>(b), holds, leaf++, f);
  }
}

void EditedCells::for_each_in(int level, int block, const mesh::Field<double>* holds, int leaf, const Visit& f) const {
  const mesh::Layout& layout = levels_.blocks[static_cast<std::size_t>(level)];
  const mesh::Box& root = levels_.blocks.front().domain();
  const mesh::Int3 factor = cells_of_root_cell(root, layout);
  const mesh::Box region = mesh::on_level(edit_->cells, root, layout.domain());
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
