#include "io/formats/flash/flash_blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "io/content/block_copy.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

using mesh::Box;
using mesh::Int3;

namespace {

constexpr int most_levels = 31;

[[noreturn]] void fail(const std::string& what, const FlashSource& source, const char* dataset) {
  throw core::Error(what, fmt::format("{}, `{}`", source.path(), dataset), "the file is damaged");
}

// The corners of blocks and of the domain, which start at `lower`.
class BlockGrid {
 public:
  BlockGrid(const FlashSource& source, const FileDescription& description)
      : source_(source), level_(source.integers("refine level")) {
    count_ = static_cast<std::int64_t>(level_.size());
    if (count_ == 0 || count_ >= std::int64_t{1} << 31)
      fail("a file has blocks, but not this many", source, "refine level");
    read_boxes();
    read_cells();
    read_domain(description);
    coarsest_ = *std::ranges::min_element(level_);
    const std::int64_t finest = *std::ranges::max_element(level_);
    if (coarsest_ < 1 || finest - coarsest_ >= most_levels) fail("the levels are absurd", source, "refine level");
    levels_ = static_cast<int>(finest - coarsest_ + 1);
    count_blocks();
  }

  FlashBlocks fill(FileDescription& description) const {
    FlashBlocks blocks{count_, cells_, std::vector<std::vector<std::int64_t>>(static_cast<std::size_t>(levels_))};
    std::vector<std::vector<Box>> boxes(static_cast<std::size_t>(levels_));
    for (std::int64_t row = 0; row < count_; ++row) {
      const auto level = static_cast<std::size_t>(level_[static_cast<std::size_t>(row)] - coarsest_);
      boxes[level].push_back(box_of(row));
      blocks.rows[level].push_back(row);
    }
    for (std::size_t level = 0; level < boxes.size(); ++level) {
      const Box domain = mesh::domain_of(domain_cells(level));
      const std::string fault = fault_of_boxes(domain, boxes[level]);
      if (!fault.empty()) fail(fault, source_, "bounding box");
      const std::vector<std::int32_t> owners(boxes[level].size(), 0);
      description.state.levels.emplace_back(domain, description.state.geometry.periodic, std::move(boxes[level]),
                                            owners, static_cast<int>(level));
      description.ratios.push_back(ratio(level));
    }
    description.state.geometry.domain = description.state.levels.front().domain();
    if (description.state.geometry.length[0] == 0.0) description.state.geometry.length = length_;
    description.origin = lower_;
    return blocks;
  }

 private:
  double corner(std::int64_t row, int axis, int side) const {
    return boxes_[static_cast<std::size_t>((row * axes_ + axis) * 2 + side)];
  }
  double size(std::int64_t row, int axis) const { return corner(row, axis, 1) - corner(row, axis, 0); }

  // Files of version 8 hold as many axes as the problem has, later ones always three.
  void read_boxes() {
    const std::vector<std::int64_t> shape = source_.shape("bounding box");
    if (shape.size() != 3 || shape[0] != count_ || shape[1] < 1 || shape[1] > 3 || shape[2] != 2)
      fail("the corners of the blocks are not as many as the blocks", source_, "bounding box");
    axes_ = static_cast<int>(shape[1]);
    boxes_ = source_.doubles("bounding box");
    if (!std::ranges::all_of(boxes_, [](double x) { return std::isfinite(x); }))
      fail("a corner is no number", source_, "bounding box");
  }

  void read_cells() {
    for (int axis = 0; axis < 3; ++axis) {
      const double cells = source_.number(fmt::format("n{}b", "xyz"[axis])).value_or(1.0);
      if (!(cells >= 1.0 && cells <= most_cells_an_axis))
        fail("the blocks have no cells, or far too many", source_, "nxb");
      cells_[axis] = static_cast<std::int32_t>(cells);
    }
    const int guess = cells_.z > 1 ? 3 : cells_.y > 1 ? 2 : 1;
    const double dimensions = source_.number("dimensionality").value_or(guess);
    if (!(dimensions >= 1.0 && dimensions <= axes_))
      fail("the number of dimensions is wrong", source_, "dimensionality");
    dimensions_ = static_cast<int>(dimensions);
  }

  // From the parameters, or from the outermost corners.
  void read_domain(const FileDescription& description) {
    for (int axis = 0; axis < 3; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const auto low = source_.number(fmt::format("{}min", "xyz"[axis])),
                 high = source_.number(fmt::format("{}max", "xyz"[axis]));
      lower_[i] = low.value_or(axis < axes_ ? outermost(axis, 0) : 0.0);
      length_[i] = high.value_or(axis < axes_ ? outermost(axis, 1) : 1.0) - lower_[i];
      if (description.state.geometry.length[i] != 0.0) length_[i] = description.state.geometry.length[i];
      if (axis >= dimensions_ && !(length_[i] > 0.0)) length_[i] = 1.0;
      if (!(length_[i] > 0.0) || !std::isfinite(length_[i]) || !std::isfinite(lower_[i]))
        fail("the domain has no extent", source_, "real runtime parameters");
    }
  }
  double outermost(int axis, int side) const {
    double found = corner(0, axis, side);
    for (std::int64_t row = 1; row < count_; ++row)
      found = side == 0 ? std::min(found, corner(row, axis, side)) : std::max(found, corner(row, axis, side));
    return found;
  }

  // Blocks along each axis of each level, from the size of the first one there.
  void count_blocks() {
    blocks_.assign(static_cast<std::size_t>(levels_), Int3{0, 0, 0});
    for (std::int64_t row = 0; row < count_; ++row) {
      const auto level = static_cast<std::size_t>(level_[static_cast<std::size_t>(row)] - coarsest_);
      if (blocks_[level].x == 0) blocks_[level] = blocks_like(row);
    }
    for (std::size_t level = 1; level < blocks_.size(); ++level) {
      if (blocks_[level].x == 0) blocks_[level] = twice(blocks_[level - 1]);
      for (int axis = 0; axis < 3; ++axis)
        if (blocks_[level][axis] % blocks_[level - 1][axis] != 0)
          fail("the levels do not refine each other", source_, "bounding box");
    }
  }
  // Of a level without blocks, those of the next coarser one.
  Int3 twice(Int3 blocks) const {
    for (int axis = 0; axis < dimensions_; ++axis) {
      if (blocks[axis] > most_cells_an_axis / 2) fail("the domain has too many cells", source_, "bounding box");
      blocks[axis] *= 2;
      check_cells(blocks, axis);
    }
    return blocks;
  }
  void check_cells(Int3 blocks, int axis) const {
    if (std::int64_t{blocks[axis]} * cells_[axis] > most_cells_an_axis)
      fail("the domain has too many cells", source_, "bounding box");
  }
  Int3 blocks_like(std::int64_t row) const {
    Int3 blocks{1, 1, 1};
    for (int axis = 0; axis < dimensions_; ++axis) {
      const double number = length_[static_cast<std::size_t>(axis)] / size(row, axis);
      if (!(number > 0.5 && number < most_cells_an_axis)) fail("a block has no extent", source_, "bounding box");
      blocks[axis] = static_cast<std::int32_t>(std::lround(number));
      check_cells(blocks, axis);
    }
    return blocks;
  }

  Int3 domain_cells(std::size_t level) const {
    Int3 cells;
    for (int axis = 0; axis < 3; ++axis) cells[axis] = blocks_[level][axis] * cells_[axis];
    return cells;
  }
  Int3 ratio(std::size_t level) const {
    Int3 ratio{1, 1, 1};
    for (int axis = 0; axis < 3 && level > 0; ++axis) ratio[axis] = blocks_[level][axis] / blocks_[level - 1][axis];
    return ratio;
  }

  // Corners in single precision are a little off.
  Box box_of(std::int64_t row) const {
    constexpr double tolerance = 0.1;
    const Int3 blocks = blocks_[static_cast<std::size_t>(level_[static_cast<std::size_t>(row)] - coarsest_)];
    Box box{{0, 0, 0}, cells_};
    for (int axis = 0; axis < dimensions_; ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      const double width = length_[i] / blocks[axis], position = (corner(row, axis, 0) - lower_[i]) / width;
      if (!(std::abs(position - std::round(position)) < tolerance) || !(position > -0.5 && position < blocks[axis]) ||
          !(std::abs(size(row, axis) / width - 1.0) < tolerance))
        fail(fmt::format("block {} is not on the grid of its level", row + 1), source_, "bounding box");
      box.lo[axis] = static_cast<std::int32_t>(std::lround(position)) * cells_[axis];
      box.hi[axis] = box.lo[axis] + cells_[axis];
    }
    return box;
  }

  const FlashSource& source_;
  std::vector<std::int64_t> level_;
  std::vector<double> boxes_;
  std::int64_t count_ = 0, coarsest_ = 1;
  int axes_ = 3, dimensions_ = 3, levels_ = 1;
  Int3 cells_{1, 1, 1};
  std::array<double, 3> lower_{}, length_{};
  std::vector<Int3> blocks_;
};

}  // namespace

FlashBlocks read_flash_blocks(const FlashSource& source, FileDescription& description) {
  return BlockGrid(source, description).fill(description);
}

}  // namespace sidestream::io
