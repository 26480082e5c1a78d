#include "tagging.hpp"

#include "sidestream/amr/interpolation.hpp"

namespace sidestream::sims {

namespace {

/// Fields of one block with ghost cells, as criteria read them.
class BlockFields {
 public:
  BlockFields(const mesh::Hierarchy& hierarchy, const std::vector<amr::Criterion>& criteria)
      : names_(amr::fields_of(criteria)), data_(names_.size()) {
    const auto active = amr::refined_axes(hierarchy.geometry(0).domain);
    for (int axis = 0; axis < 3; ++axis)
      ghost_[axis] = active[static_cast<std::size_t>(axis)] ? amr::ghost_of(criteria) : 0;
  }

  void read(const mesh::Box& box, int level, int block, const WriteBlockField& write, amr::BlockData& out) {
    const mesh::Box cells = box.grown(ghost_);
    const mesh::Int3 n = cells.extent();
    for (std::size_t f = 0; f < names_.size(); ++f) {
      data_[f].resize(static_cast<std::size_t>(cells.volume()));
      const core::View4<double> view(data_[f].data(), cells.lo.x, cells.lo.y, cells.lo.z, n.x, n.y, n.z, 1);
      write(names_[f], level, block, cells, view);
      out.fields[names_[f]] = view;
    }
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> data_;
  mesh::Int3 ghost_;
};

}  // namespace

std::vector<std::vector<amr::Tags>> tag_blocks(const mesh::Hierarchy& hierarchy, int rank,
                                               const std::vector<amr::Criterion>& criteria, TagUnits units,
                                               const WriteBlockField& write) {
  BlockFields fields(hierarchy, criteria);
  std::vector<std::vector<amr::Tags>> tags;
  for (int level = 0; level <= hierarchy.finest_level(); ++level) {
    const mesh::Layout& layout = hierarchy.layout(level);
    const auto own = layout.boxes_of(rank);
    auto& of_level = tags.emplace_back(own.size());
    amr::BlockData block{{}, level, hierarchy.geometry(level), {}, units.four_pi_g, units.gamma};
    for (std::size_t b = 0; b < own.size(); ++b) {
      if (!hierarchy.is_leaf(level, own[b])) continue;
      block.cells = layout.box(own[b]);
      fields.read(block.cells, level, static_cast<int>(b), write, block);
      of_level[b] = amr::judged(criteria, block);
    }
  }
  return tags;
}

}  // namespace sidestream::sims
