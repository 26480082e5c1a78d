#include "sidestream/mesh/forest.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sidestream/core/error.hpp"

namespace sidestream::mesh {

namespace {

using Codes = std::vector<std::uint64_t>;

/// Positions have so many bits an axis in a Morton code.
constexpr int code_bits = 21;

// Every third bit of the result is a bit of `value`.
std::uint64_t spread_bits(std::int32_t value) {
  auto bits = static_cast<std::uint64_t>(value) & 0x1fffff;
  bits = (bits | bits << 32) & 0x1f00000000ffff;
  bits = (bits | bits << 16) & 0x1f0000ff0000ff;
  bits = (bits | bits << 8) & 0x100f00f00f00f00f;
  bits = (bits | bits << 4) & 0x10c30c30c30c30c3;
  bits = (bits | bits << 2) & 0x1249249249249249;
  return bits;
}

std::int32_t gathered_bits(std::uint64_t bits) {
  bits &= 0x1249249249249249;
  bits = (bits | bits >> 2) & 0x10c30c30c30c30c3;
  bits = (bits | bits >> 4) & 0x100f00f00f00f00f;
  bits = (bits | bits >> 8) & 0x1f0000ff0000ff;
  bits = (bits | bits >> 16) & 0x1f00000000ffff;
  bits = (bits | bits >> 32) & 0x1fffff;
  return static_cast<std::int32_t>(bits);
}

std::uint64_t morton_code(Int3 position) {
  return spread_bits(position.x) | spread_bits(position.y) << 1 | spread_bits(position.z) << 2;
}

Int3 position_of(std::uint64_t code) {
  return {gathered_bits(code), gathered_bits(code >> 1), gathered_bits(code >> 2)};
}

void sort_unique(Codes& codes) {
  std::ranges::sort(codes);
  const auto repeated = std::ranges::unique(codes);
  codes.erase(repeated.begin(), repeated.end());
}

}  // namespace

void Forest::set_cells(Int3 cells) {
  cells_ = cells;
  core::require(block_ > 0, "a block has at least one cell a side");
  for (int axis = 0; axis < 3; ++axis) {
    block_extent_[axis] = cells[axis] == 1 ? 1 : block_;
    active_axes_ += cells[axis] > 1 ? 1 : 0;
    if (cells[axis] < 1 || cells[axis] % block_extent_[axis] != 0)
      throw core::Error(
          fmt::format("{} cells along {} are no whole number of blocks of {}", cells[axis], "xyz"[axis], block_), "",
          "choose `mesh.cells` as multiples of `mesh.block` (1 for a flat axis)");
  }
}

Forest::Forest(Int3 cells, std::int32_t block, Periodicity periodic) : block_(block), periodic_(periodic) {
  set_cells(cells);
  grow({});
}

Forest::Forest(Int3 cells, std::int32_t block, Periodicity periodic, std::span<const BlockKey> refined)
    : block_(block), periodic_(periodic) {
  set_cells(cells);
  std::vector<Codes> codes;
  for (const BlockKey& key : refined) {
    core::require(key.level >= 0 && domain_of(blocks(key.level)).contains(key.position),
                  "a refined block of a forest lies in the domain");
    if (codes.size() <= static_cast<std::size_t>(key.level)) codes.resize(static_cast<std::size_t>(key.level) + 1);
    codes[static_cast<std::size_t>(key.level)].push_back(morton_code(key.position));
  }
  for (Codes& level : codes) sort_unique(level);
  grow(codes);
  check(*this);
}

Int3 Forest::cells(int level) const {
  Int3 cells;
  for (int axis = 0; axis < 3; ++axis) cells[axis] = cells_[axis] == 1 ? 1 : cells_[axis] << level;
  return cells;
}

Int3 Forest::blocks(int level) const {
  Int3 blocks = cells(level);
  for (int axis = 0; axis < 3; ++axis) blocks[axis] /= block_extent_[axis];
  return blocks;
}

std::int64_t Forest::leaves() const {
  std::int64_t count = 0;
  for (const Level& level : levels_) count += std::ranges::count(level.refined, 0);
  return count;
}

Box Forest::box(const BlockKey& key) const {
  Box box;
  for (int axis = 0; axis < 3; ++axis) {
    box.lo[axis] = key.position[axis] * block_extent_[axis];
    box.hi[axis] = box.lo[axis] + block_extent_[axis];
  }
  return box;
}

std::int32_t Forest::find(const BlockKey& key) const {
  if (key.level < 0 || key.level > finest_level() || !domain_of(blocks(key.level)).contains(key.position)) return -1;
  const Codes& codes = at(key.level).code;
  const std::uint64_t code = morton_code(key.position);
  const auto found = std::ranges::lower_bound(codes, code);
  return found != codes.end() && *found == code ? static_cast<std::int32_t>(found - codes.begin()) : -1;
}

// The position beside `key`, brought into the domain on periodic axes; nothing when it is outside.
std::optional<Int3> Forest::position_beside(const BlockKey& key, Int3 offset) const {
  const Int3 blocks = this->blocks(key.level);
  Int3 beside = key.position + offset;
  for (int axis = 0; axis < 3; ++axis) {
    if (beside[axis] >= 0 && beside[axis] < blocks[axis]) continue;
    if (!periodic_[static_cast<std::size_t>(axis)]) return std::nullopt;
    beside[axis] = wrapped(beside[axis], blocks[axis]);
  }
  return beside;
}

std::int32_t Forest::neighbor(const BlockKey& key, Int3 offset) const {
  const auto beside = position_beside(key, offset);
  return beside ? find({key.level, *beside}) : -2;
}

std::int32_t Forest::coarser_neighbor(const BlockKey& key, Int3 offset) const {
  auto beside = position_beside(key, offset);
  if (!beside) return -2;
  for (int axis = 0; axis < 3; ++axis)
    if (cells_[axis] > 1) (*beside)[axis] >>= 1;
  return find({key.level - 1, *beside});
}

bool Forest::is_near_leaf(int level, std::int32_t index) const {
  if (is_leaf(level, index)) return true;
  const BlockKey block = key(level, index);
  for (std::int32_t z = -1; z <= 1; ++z)
    for (std::int32_t y = -1; y <= 1; ++y)
      for (std::int32_t x = -1; x <= 1; ++x) {
        const std::int32_t beside = neighbor(block, {x, y, z});
        if (beside >= 0 && is_leaf(level, beside)) return true;
      }
  return false;
}

std::int32_t Forest::first_child(const BlockKey& key) const {
  BlockKey child{key.level + 1, {}};
  for (int axis = 0; axis < 3; ++axis) child.position[axis] = key.position[axis] * (cells_[axis] > 1 ? 2 : 1);
  return find(child);
}

void Forest::add_children(Int3 position, Codes& codes) const {
  const auto begin = [&](int axis) { return cells_[axis] > 1 ? 2 * position[axis] : 0; };
  const auto end = [&](int axis) { return begin(axis) + (cells_[axis] > 1 ? 2 : 1); };
  for (std::int32_t z = begin(2); z < end(2); ++z)
    for (std::int32_t y = begin(1); y < end(1); ++y)
      for (std::int32_t x = begin(0); x < end(0); ++x) codes.push_back(morton_code({x, y, z}));
}

// Makes the levels from the sorted codes of the refined blocks of each level.
void Forest::grow(std::vector<Codes> refined) {
  while (!refined.empty() && refined.back().empty()) refined.pop_back();
  levels_.assign(refined.size() + 1, {});
  const Int3 roots = blocks(0);
  for (std::int32_t z = 0; z < roots.z; ++z)
    for (std::int32_t y = 0; y < roots.y; ++y)
      for (std::int32_t x = 0; x < roots.x; ++x) levels_[0].code.push_back(morton_code({x, y, z}));
  std::ranges::sort(levels_[0].code);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    for (const std::uint64_t code : level.code) level.position.push_back(position_of(code));
    level.refined.assign(level.code.size(), 0);
    if (l == refined.size()) break;
    const Int3 most = blocks(static_cast<int>(l) + 1);
    core::require(std::max({most.x, most.y, most.z}) <= 1 << code_bits, "a level has at most 2^21 blocks an axis");
    for (const std::uint64_t code : refined[l]) {
      const auto found = std::ranges::lower_bound(level.code, code);
      core::require(found != level.code.end() && *found == code, "a refined block of a forest has a refined parent");
      level.refined[static_cast<std::size_t>(found - level.code.begin())] = 1;
      add_children(position_of(code), levels_[l + 1].code);
    }
    std::ranges::sort(levels_[l + 1].code);
  }
}

// Coordinates, among the blocks of the coarser level, of the parents of a block and its neighbours along one axis.
std::vector<std::int32_t> Forest::parents_along(int axis, std::int32_t position, std::int32_t blocks) const {
  if (cells_[axis] == 1) return {0};
  std::vector<std::int32_t> parents;
  for (const std::int32_t beside : {position - 1, position + 1}) {
    const bool is_outside = beside < 0 || beside >= blocks;
    if (is_outside && !periodic_[static_cast<std::size_t>(axis)]) continue;
    parents.push_back(wrapped(beside, blocks) >> 1);
  }
  parents.push_back(position >> 1);
  return parents;
}

// Adds to the refined blocks of each level what their neighbours need: all blocks around a refined block exist, hence
// their parents are refined.
void Forest::require_neighbors(std::vector<Codes>& refined) const {
  for (std::size_t l = refined.size(); l-- > 1;) {
    Codes& coarser = refined[l - 1];
    const Int3 blocks = this->blocks(static_cast<int>(l));
    for (const std::uint64_t code : refined[l]) {
      const Int3 position = position_of(code);
      const auto xs = parents_along(0, position.x, blocks.x), ys = parents_along(1, position.y, blocks.y),
                 zs = parents_along(2, position.z, blocks.z);
      for (const std::int32_t z : zs)
        for (const std::int32_t y : ys)
          for (const std::int32_t x : xs) coarser.push_back(morton_code({x, y, z}));
    }
    sort_unique(coarser);
  }
}

Forest Forest::adapted(const std::vector<std::vector<Adaptation>>& wishes, int lowest_level, int highest_level) const {
  core::require(wishes.size() == levels_.size(), "a forest takes the wishes of every level");
  std::vector<Codes> refined(static_cast<std::size_t>(std::max(highest_level, finest_level())));
  bool is_same = true;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    core::require(wishes[l].size() == levels_[l].code.size(), "a forest takes one wish for each block");
    for (std::size_t b = 0; b < levels_[l].code.size(); ++b) {
      const bool stays_refined = levels_[l].refined[b] != 0 && !may_lose_children(l, b, wishes[l + 1], lowest_level);
      const bool becomes_refined = levels_[l].refined[b] == 0 && static_cast<int>(l) < highest_level &&
                                   (wishes[l][b] == Adaptation::refine || static_cast<int>(l) < lowest_level);
      if (stays_refined || becomes_refined) refined[l].push_back(levels_[l].code[b]);
      is_same = is_same && (stays_refined || becomes_refined) == (levels_[l].refined[b] != 0);
    }
  }
  if (is_same) return *this;
  require_neighbors(refined);
  Forest forest = *this;
  forest.grow(std::move(refined));
#ifndef NDEBUG
  check(forest);
#endif
  return forest;
}

bool Forest::may_lose_children(std::size_t level, std::size_t index, const std::vector<Adaptation>& wishes,
                               int lowest_level) const {
  if (static_cast<int>(level) < lowest_level) return false;
  const auto first =
      static_cast<std::size_t>(first_child(key(static_cast<int>(level), static_cast<std::int32_t>(index))));
  const Level& finer = levels_[level + 1];
  for (std::size_t child = first; child < first + static_cast<std::size_t>(children()); ++child)
    if (finer.refined[child] != 0 || wishes[child] != Adaptation::coarsen) return false;
  return true;
}

Layout Forest::layout(int ranks, int level, std::span<const double> weights) const {
  core::require(ranks > 0, "a layout needs at least one rank");
  const auto count = static_cast<std::size_t>(size(level));
  core::require(weights.empty() || weights.size() == count, "a layout takes one weight for each block");
  const auto weight = [&](std::size_t block) { return weights.empty() ? 1.0 : weights[block]; };
  double total = 0.0;
  for (std::size_t block = 0; block < count; ++block) total += weight(block);

  std::vector<Box> boxes;
  std::vector<std::int32_t> owners;
  boxes.reserve(count);
  owners.reserve(count);
  double before = 0.0;
  for (std::size_t block = 0; block < count; ++block) {
    // A block goes to the rank whose share of the total weight holds the block's middle.
    const double middle = before + 0.5 * weight(block);
    before += weight(block);
    boxes.push_back(box(level, static_cast<std::int32_t>(block)));
    owners.push_back(std::min(ranks - 1, static_cast<std::int32_t>(middle / total * ranks)));
  }
  return {domain_of(cells(level)), periodic_, std::move(boxes), std::move(owners), level};
}

bool operator==(const Forest& a, const Forest& b) {
  const auto same = [](const Forest::Level& one, const Forest::Level& other) {
    return one.code == other.code && one.refined == other.refined;
  };
  return a.cells_ == b.cells_ && a.block_ == b.block_ && a.periodic_ == b.periodic_ &&
         std::ranges::equal(a.levels_, b.levels_, same);
}

namespace {

void check_level(const Forest& forest, int level) {
  for (std::int32_t b = 0; b < forest.size(level); ++b) {
    const BlockKey key = forest.key(level, b);
    core::require(forest.find(key) == b, "a forest finds each of its blocks where it is");
    if (forest.is_leaf(level, b)) continue;
    const std::int32_t first = forest.first_child(key);
    core::require(first >= 0, "a refined block of a forest has children");
    for (std::int32_t child = first; child < first + forest.children(); ++child) {
      const Int3 at = forest.key(level + 1, child).position;
      for (int axis = 0; axis < 3; ++axis)
        core::require((forest.cells()[axis] == 1 ? at[axis] : at[axis] >> 1) == key.position[axis],
                      "the children of a block follow each other");
    }
    for (std::int32_t z = -1; z <= 1; ++z)
      for (std::int32_t y = -1; y <= 1; ++y)
        for (std::int32_t x = -1; x <= 1; ++x)
          core::require(forest.neighbor(key, {x, y, z}) != -1, "neighbours in a forest differ by at most one level");
  }
}

}  // namespace

void check(const Forest& forest) {
  core::require(forest.size(0) == forest.blocks(0).product(), "a forest holds all blocks of its root grid");
  for (int level = 0; level <= forest.finest_level(); ++level) {
    check_level(forest, level);
    std::int64_t refined = 0;
    for (std::int32_t b = 0; b < forest.size(level); ++b) refined += forest.is_leaf(level, b) ? 0 : 1;
    const std::int64_t finer = level < forest.finest_level() ? forest.size(level + 1) : 0;
    core::require(refined * forest.children() == finer, "each block of a forest but the roots has a refined parent");
  }
}

}  // namespace sidestream::mesh
