#include "sims/tagging.hpp"

#include <algorithm>

#include "sidestream/amr/interpolation.hpp"

namespace sidestream::sims {

namespace {

/// Fields of one block with ghost cells, as criteria read them.
class BlockFields {
 public:
  BlockFields(const mesh::Hierarchy& hierarchy, const std::vector<amr::Criterion>& criteria,
              std::span<const mesh::DerivedQuantity> derived, const mesh::CellConstants& constants)
      : stored_(stored_fields_of(criteria, derived)),
        derived_(derived),
        constants_(constants),
        data_(stored_.size() + derived.size()) {
    const auto active = amr::refined_axes(hierarchy.geometry(0).domain);
    for (int axis = 0; axis < 3; ++axis)
      ghost_[axis] = active[static_cast<std::size_t>(axis)] ? amr::ghost_of(criteria) : 0;
  }

  void read(const mesh::Box& box, int level, int block, const WriteBlockField& write, amr::BlockData& out) {
    const mesh::Box cells = box.grown(ghost_);
    std::size_t n = 0;
    for (const std::string& name : stored_) {
      const core::View4<double> view = room(n++, cells);
      write(name, level, block, cells, view);
      out.fields[name] = view;
    }
    for (const mesh::DerivedQuantity& one : derived_) {
      const core::View4<double> view = room(n++, cells);
      std::vector<core::View4<const double>> of;
      for (const std::string& name : one.of()) of.push_back(out.field(name));
      one.fill(cells, of, constants_, view);
      out.fields[one.quantity().name] = view;
    }
  }

 private:
  core::View4<double> room(std::size_t number, const mesh::Box& cells) {
    const mesh::Int3 n = cells.extent();
    data_[number].resize(static_cast<std::size_t>(cells.volume()));
    return {data_[number].data(), cells.lo.x, cells.lo.y, cells.lo.z, n.x, n.y, n.z, 1};
  }

  std::vector<std::string> stored_;
  std::span<const mesh::DerivedQuantity> derived_;
  mesh::CellConstants constants_;
  std::vector<std::vector<double>> data_;
  mesh::Int3 ghost_;
};

}  // namespace

std::vector<std::string> stored_fields_of(const std::vector<amr::Criterion>& criteria,
                                          std::span<const mesh::DerivedQuantity> derived) {
  std::vector<std::string> names = amr::fields_of(criteria);
  for (const mesh::DerivedQuantity& one : derived)
    for (const std::string& name : one.of())
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(derived, [&](const auto& one) { return one.quantity().name == name; });
  });
  return names;
}

std::vector<std::vector<amr::Tags>> tag_blocks(const mesh::Hierarchy& hierarchy, int rank,
                                               const std::vector<amr::Criterion>& criteria, TagUnits units,
                                               const WriteBlockField& write,
                                               std::span<const mesh::DerivedQuantity> derived) {
  BlockFields fields(hierarchy, criteria, derived, {units.scale_factor, units.gamma});
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
