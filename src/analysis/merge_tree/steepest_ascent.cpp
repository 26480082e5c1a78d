#include "analysis/merge_tree/steepest_ascent.hpp"

#include <array>
#include <tuple>

#include "analysis/at.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// The cells of one row of a block next to others: for each cell of a run the mask of the cells of its link that are in
// the block and higher.
class RowMasks {
 public:
  RowMasks(const Runs& runs, int block, const Link& link) : runs_(runs), box_(runs.box(block)), link_(link) {
    const auto view = runs.field().view(block);
    for (std::size_t bit = 0; bit < link.offsets().size(); ++bit) {
      const Int3 o = link.offsets()[bit];
      steps_.push_back(
          {o.z * view.stride_z() + o.y * view.stride_y() + o.x, std::tuple(o.z, o.y, o.x) < std::tuple(0, 0, 0)});
    }
  }

  // `row` points to the cell x = 0 of the row (z, y).
  std::span<const Link::Mask> of(const double* row, std::int32_t z, std::int32_t y, Run run) {
    masks_.assign(at(run.end - run.begin), 0);
    for (std::size_t bit = 0; bit < steps_.size(); ++bit) {
      const Int3 o = link_.offsets()[bit];
      if (z + o.z < box_.lo.z || z + o.z >= box_.hi.z || y + o.y < box_.lo.y || y + o.y >= box_.hi.y) continue;
      const std::int32_t begin = std::max(run.begin, box_.lo.x - o.x), end = std::min(run.end, box_.hi.x - o.x);
      if (begin >= end) continue;
      const auto [in_memory, is_before] = steps_[bit];
      compare(row + begin, row + begin + in_memory, end - begin, is_before, static_cast<int>(bit),
              masks_.data() + (begin - run.begin));
    }
    return masks_;
  }

 private:
  // Of equal cells the one with the smaller index is the higher.
  void compare(const double* here, const double* there, std::int32_t count, bool is_before, int bit,
               Link::Mask* masks) const {
    const double sign = runs_.sign();
    if (is_before)
      for (std::int32_t i = 0; i < count; ++i)
        masks[i] |= static_cast<Link::Mask>(sign * there[i] >= sign * here[i]) << bit;
    else
      for (std::int32_t i = 0; i < count; ++i)
        masks[i] |= static_cast<Link::Mask>(sign * there[i] > sign * here[i]) << bit;
  }

  const Runs& runs_;
  mesh::Box box_;
  const Link& link_;
  struct Step {
    std::ptrdiff_t in_memory = 0;
    bool is_before = false;  // by index, wherever it lies in memory
  };
  std::vector<Step> steps_;
  std::vector<Link::Mask> masks_;
};

// The numbers of the cells next to a row, quickly where rows are active throughout.
class NearbyCells {
 public:
  NearbyCells(const Runs& runs, int block) : runs_(runs), block_(block) {}

  void move_to(std::int32_t z, std::int32_t y) {
    z_ = z;
    y_ = y;
    for (std::int32_t dz = -1; dz <= 1; ++dz)
      for (std::int32_t dy = -1; dy <= 1; ++dy) {
        const auto row = runs_.row(block_, z + dz, y + dy);
        Row& near = rows_[row_of(dz, dy)];
        near.is_one_run = row.size() == 1;
        if (near.is_one_run) near.cell_at_zero = runs_.first_cell(runs_.first(block_, z + dz, y + dy)) - row[0].begin;
      }
  }
  // The number of an active cell.
  std::int32_t at(std::int32_t x, Int3 offset) const {
    const Row& near = rows_[row_of(offset.z, offset.y)];
    if (near.is_one_run) return near.cell_at_zero + x + offset.x;
    return runs_.cell(block_, Int3{x, y_, z_} + offset);
  }

 private:
  struct Row {
    bool is_one_run = false;
    std::int32_t cell_at_zero = 0;
  };
  static std::size_t row_of(std::int32_t dz, std::int32_t dy) { return static_cast<std::size_t>(3 * dz + dy + 4); }

  const Runs& runs_;
  int block_;
  std::int32_t z_ = 0, y_ = 0;
  std::array<Row, 9> rows_{};
};

}  // namespace

void find_ascents(const Runs& runs, int block, const Link& link, const CellIndex& index, std::span<std::int32_t> up,
                  std::vector<Edge>& edges) {
  RowMasks row_masks(runs, block, link);
  NearbyCells nearby(runs, block);
  const auto view = runs.field().view(block);
  std::int32_t last_z = runs.box(block).lo.z - 1, last_y = 0;
  runs.for_each(block, [&](std::int32_t z, std::int32_t y, Run run, std::int32_t number) {
    if (z != last_z || y != last_y) nearby.move_to(last_z = z, last_y = y);
    const double* const row = &view(z, y, 0);
    const auto masks = row_masks.of(row, z, y, run);
    const std::int32_t first = runs.first_cell(number);
    for (std::int32_t x = run.begin; x < run.end; ++x) {
      const Link::Mask higher = masks[at(x - run.begin)];
      std::int32_t& above = up[at(first + x - run.begin)];
      if ((higher & link.neighbors()) == 0) {
        above = first + x - run.begin;
        continue;
      }
      const int lowest = std::countr_zero(higher & link.neighbors());
      above = nearby.at(x, link.offsets()[at(lowest)]);
      if (link.is_connected(higher)) continue;
      const Saddle saddle{runs.height(row[x]), index({x, y, z})};
      link.for_each_part(higher, [&](int bit) {
        if (bit != lowest) edges.push_back({saddle, above, nearby.at(x, link.offsets()[at(bit)])});
      });
    }
  });
}

void follow_ascents(const Runs& runs, int block, int rank, const CellIndex& index, std::span<std::int32_t> up,
                    std::vector<Peak>& peaks) {
  const std::int32_t begin = runs.first_cell_of(block), end = runs.first_cell_of(block + 1);
  for (std::int32_t cell = begin; cell < end; ++cell) {
    std::int32_t& above = up[at(cell)];
    while (up[at(above)] != above) above = up[at(above)] = up[at(up[at(above)])];
  }
  // While maxima are numbered, theirs are told from the numbers of cells by being negative.
  const auto view = runs.field().view(block);
  runs.for_each(block, [&](std::int32_t z, std::int32_t y, Run run, std::int32_t number) {
    const std::int32_t first = runs.first_cell(number);
    for (std::int32_t cell = first; cell < first + run.end - run.begin; ++cell) {
      if (up[at(cell)] != cell) continue;
      const std::int32_t x = run.begin + cell - first, maximum = static_cast<std::int32_t>(peaks.size());
      peaks.push_back({runs.height(view(z, y, x)), index({x, y, z}), rank, maximum});
      up[at(cell)] = ~maximum;
    }
  });
  for (std::int32_t cell = begin; cell < end; ++cell)
    if (up[at(cell)] >= 0) up[at(cell)] = ~up[at(up[at(cell)])];
  for (std::int32_t cell = begin; cell < end; ++cell)
    if (up[at(cell)] < 0) up[at(cell)] = ~up[at(cell)];
}

}  // namespace sidestream::analysis
