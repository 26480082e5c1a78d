#include "sidestream/io/file_mesh.hpp"

#include <fmt/format.h>

#include "io/content/refined_blocks.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

namespace {

using mesh::Int3;

bool has_blocks_of(const mesh::Snapshot& file, const mesh::Forest& roots) {
  const Int3 extent = roots.box(0, 0).extent();
  for (const mesh::Layout& level : file.blocks())
    for (const mesh::Box& box : level.boxes())
      for (int axis = 0; axis < 3; ++axis)
        if (box.extent()[axis] != extent[axis] || box.lo[axis] % extent[axis] != 0) return false;
  return true;
}

void check_levels(const mesh::Snapshot& file, const mesh::Forest& roots) {
  for (std::size_t level = 0; level < file.blocks().size(); ++level)
    if (file.blocks()[level].domain() != mesh::domain_of(roots.cells(static_cast<int>(level))))
      throw core::Error(fmt::format("level {} of the file is not twice as fine as the one before", level), file.source,
                        "only files whose levels are refined by two have a mesh of blocks");
}

// What the blocks of `level` ask for, so that the boxes of the next level of the file get blocks.
std::vector<std::vector<mesh::Adaptation>> wishes_of(const mesh::Layout& finer, const mesh::Forest& forest, int level) {
  std::vector<std::vector<mesh::Adaptation>> wishes;
  for (int l = 0; l <= forest.finest_level(); ++l)
    wishes.emplace_back(static_cast<std::size_t>(forest.size(l)), mesh::Adaptation::keep);
  for (std::int32_t b = 0; level <= forest.finest_level() && b < forest.size(level); ++b) {
    if (!forest.is_leaf(level, b)) continue;
    mesh::Box children = forest.box(level, b);
    for (int axis = 0; axis < 3; ++axis)
      if (forest.cells(level)[axis] > 1) children.lo[axis] *= 2, children.hi[axis] *= 2;
    finer.for_each_meeting(children, [&](std::int32_t) {
      wishes[static_cast<std::size_t>(level)][static_cast<std::size_t>(b)] = mesh::Adaptation::refine;
    });
  }
  return wishes;
}

// The blocks of the file as they are, unless neighbours among them differ by more than a level, which a file may have
// and a forest not.
std::optional<mesh::Forest> same_blocks(const mesh::Snapshot& file, const mesh::Forest& roots, std::int32_t block) {
  if (!has_blocks_of(file, roots)) return std::nullopt;
  try {
    return mesh::Forest(roots.cells(), block, file.geometry.periodic, refined_blocks(file.blocks()));
  } catch (const core::Error&) {
    return std::nullopt;
  }
}

}  // namespace

mesh::Forest forest_of(const mesh::Snapshot& file, std::int32_t block) {
  mesh::Forest forest(file.blocks().front().domain().extent(), block, file.geometry.periodic);
  check_levels(file, forest);
  if (const auto same = same_blocks(file, forest, block)) return *same;
  const auto finest = static_cast<int>(file.blocks().size()) - 1;
  for (int level = 0; level < finest; ++level)
    forest = forest.adapted(wishes_of(file.blocks()[static_cast<std::size_t>(level) + 1], forest, level), 0, finest);
  return forest;
}

std::optional<std::int32_t> block_of(const mesh::Snapshot& file) {
  std::int32_t block = 64;
  for (const mesh::Layout& level : file.blocks())
    for (int axis = 0; axis < 3; ++axis) {
      if (level.domain().extent()[axis] == 1) continue;
      for (const mesh::Box& box : level.boxes())
        while (block > 1 && (box.lo[axis] % block != 0 || box.hi[axis] % block != 0)) block /= 2;
    }
  return block < 2 ? std::nullopt : std::optional(block);
}

}  // namespace sidestream::io
