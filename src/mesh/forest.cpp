#include "sidestream/mesh/forest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

// Every third bit of the result is a bit of `value` (21 bits at most).
std::uint64_t spread_bits(std::int32_t value) {
  auto bits = static_cast<std::uint64_t>(value) & 0x1fffff;
  bits = (bits | bits << 32) & 0x1f00000000ffff;
  bits = (bits | bits << 16) & 0x1f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  bits = (bits | bits << 2) & 0x1249249249249249;
  return bits;
}

std::uint64_t morton_code(Int3 position) {
  return spread_bits(position.x) | spread_bits(position.y) << 1 | spread_bits(position.z) << 2;
}

}  // namespace

Forest::Forest(Int3 cells, std::int32_t block, Periodicity periodic)
    : cells_(cells), block_(block), periodic_(periodic) {
  core::require(block > 0, "a block has at least one cell a side");
  Int3 blocks;
  for (int axis = 0; axis < 3; ++axis) {
    block_extent_[axis] = cells[axis] == 1 ? 1 : block;
    if (cells[axis] < 1 || cells[axis] % block_extent_[axis] != 0)
      throw core::Error(
          fmt::format("{} cells along {} are no whole number of blocks of {}", cells[axis], "xyz"[axis], block), "",
          "choose `mesh.cells` as multiples of `mesh.block` (1 for a flat axis)");
    blocks[axis] = cells[axis] / block_extent_[axis];
  }
  for (std::int32_t z = 0; z < blocks.z; ++z)
    for (std::int32_t y = 0; y < blocks.y; ++y)
      for (std::int32_t x = 0; x < blocks.x; ++x) leaves_.push_back({0, {x, y, z}});
  std::ranges::sort(leaves_, {}, [](const BlockKey& key) { return morton_code(key.position); });
}

Int3 Forest::cells(int level) const {
  Int3 cells;
  for (int axis = 0; axis < 3; ++axis) cells[axis] = cells_[axis] == 1 ? 1 : cells_[axis] << level;
  return cells;
}

Box Forest::box(const BlockKey& key) const {
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.lo[axis] = key.position[axis] * block_extent_[axis];
    box.hi[axis] = box.lo[axis] + block_extent_[axis];
  }
  return box;
}

Layout Forest::layout(int ranks, std::span<const double> weights, int level) const {
  core::require(ranks > 0, "a layout needs at least one rank");
  core::require(weights.empty() || weights.size() == leaves_.size(), "a layout takes one weight for each leaf");
  const auto weight = [&](std::size_t leaf) { return weights.empty() ? 1.0 : weights[leaf]; };
  double total = 0.0;
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) total += weight(leaf);

  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  double before = 0.0;
  for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
    // A leaf goes to the rank whose share of the total weight holds the leaf's middle.
    const double middle = before + 0.5 * weight(leaf);
    before += weight(leaf);
    if (leaves_[leaf].level != level) continue;
    boxes.push_back(box(leaves_[leaf]));
    owners.push_back(std::min(ranks - 1, static_cast<std::int32_t>(middle / total * ranks)));
  }
  return {domain_of(cells(level)), periodic_, std::move(boxes), std::move(owners), level};
}

}  // namespace sidestream::mesh
