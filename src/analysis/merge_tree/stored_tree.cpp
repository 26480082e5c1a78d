#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "analysis/at.hpp"
#include "analysis/fields/levels.hpp"
#include "analysis/merge_tree/merge_tree_impl.hpp"
#include "analysis/merge_tree/tree_tables.hpp"
#include "analysis/row_deal.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

using namespace tree_tables;

}  // namespace

/// Makes a tree of the tables of a result.
class TreeReader {
 public:
  TreeReader(const comm::Communicator& comm, const mesh::Result& result) : comm_(comm), result_(result) {
    comm.agree_on([&] { read_attributes(); });
    head_ = comm.broadcast(head_);
    options_ = {static_cast<Connectivity>(head_.connectivity), head_.is_above ? Sets::above : Sets::below,
                head_.cut_off};
    comm.agree_on([&] { read_blocks(); });
    blocks_ = comm.all_gather(std::span<const Block>(blocks_));
    comm.agree_on([&] { deal_blocks(); });
    runs_ = {fetch("run_x", &Block::runs), fetch("run_y", &Block::runs), fetch("run_z", &Block::runs),
             fetch("run_length", &Block::runs)};
    const double filler =
        options_.sets == Sets::above ? -std::numeric_limits<double>::max() : std::numeric_limits<double>::max();
    field_ = make_field(own_field, filler);
  }

  std::vector<NamedField> other_fields() {
    std::vector<NamedField> fields;
    for (const mesh::Column& column : result_.columns)
      if (column.name.starts_with(field_prefix) && column.name != own_field && column.name != maximum_of_cell)
        fields.push_back(
            {column.name.substr(std::string(field_prefix).size()), column.unit, make_field(column.name, 0.0)});
    return fields;
  }

  MergeTree tree() {
    std::optional<TreePart> part;
    const auto rows = fetch(maximum_of_cell, &Block::cells);
    const auto cells = fetch("maximum", &Block::maxima), saddles = fetch("saddle", &Block::maxima),
               parents = fetch("parent", &Block::maxima), parent_rows = fetch("parent_row", &Block::maxima);
    const auto births = fetch_reals("birth", &Block::maxima), deaths = fetch_reals("death", &Block::maxima),
               parent_births = fetch_reals("parent_birth", &Block::maxima);
    const double sign = options_.sets == Sets::above ? 1.0 : -1.0;
    std::vector<Peak> peaks;
    std::vector<BranchEnd> ends;
    std::vector<std::int32_t> maximum_of;
    comm_.agree_on([&] {
      for_each_block_of_mine([&](const Block& block, const Starts& start) {
        const auto first = static_cast<std::int32_t>(peaks.size());
        for (std::int64_t m = start.maxima; m < start.maxima + block.maxima; ++m) {
          peaks.push_back({sign * births[at(m)], cells[at(m)], comm_.rank(), static_cast<std::int32_t>(peaks.size())});
          ends.push_back({{sign * deaths[at(m)], saddles[at(m)]}, Peak()});
          require_fit((parent_rows[at(m)] < 0) == (parents[at(m)] < 0));
          if (parent_rows[at(m)] >= 0)
            ends.back().parent = peak_of_row(parent_rows[at(m)], sign * parent_births[at(m)], parents[at(m)]);
        }
        for (std::int64_t c = start.cells; c < start.cells + block.cells; ++c) {
          const std::int64_t maximum = rows[at(c)] - block.first_maximum;
          require_fit(maximum >= 0 && maximum < block.maxima);
          maximum_of.push_back(first + static_cast<std::int32_t>(maximum));
        }
      });
      part.emplace(field_, comm_.rank(), options_, std::move(maximum_of), std::move(peaks), std::move(ends));
      require_fit(at(part->levels().back().end().cells) == part->maximum_of().size());
    });
    return MergeTree(std::make_unique<MergeTree::Impl>(comm_, field_, options_, std::move(*part)));
  }

 private:
  struct Head {
    std::int64_t levels = 0, connectivity = 0, is_above = 0;
    mesh::Box domain;
    std::array<std::int64_t, 3> periodic{};
    double cut_off = 0.0;
  };
  struct Block {
    std::int64_t level = 0, runs = 0, cells = 0, maxima = 0;
    std::int64_t first_maximum = 0;     // row of its first maximum
    std::int32_t owner = 0, start = 0;  // rank that gets it, number of its first maximum there
    mesh::Box box;
  };
  // Positions of the first rows of a block among those of this rank, in the order of the tables.
  struct Starts {
    std::int64_t runs = 0, cells = 0, maxima = 0;
  };

  static void require_fit(bool fits) {
    if (!fits)
      throw core::Error("the tables of the stored merge tree do not fit together", "",
                        "the file is damaged, or was changed; write the tree anew");
  }

  template <typename T>
  T attribute(const std::string& name) const {
    const auto found = result_.attributes.find(name);
    if (found == result_.attributes.end() || !std::holds_alternative<T>(found->second))
      throw core::Error("the file holds no merge tree: it has no attribute `" + name + "`", "",
                        "a task with the analysis `merge_tree` writes one");
    return std::get<T>(found->second);
  }

  void read_attributes() {
    if (comm_.rank() != 0) return;
    head_.levels = attribute<std::int64_t>("tree_levels");
    head_.connectivity = static_cast<std::int64_t>(connectivity_of(attribute<std::int64_t>("connectivity")));
    head_.is_above = attribute<std::int64_t>("sets_above");
    head_.cut_off = attribute<double>("tree_cut_off");
    for (int axis = 0; axis < 3; ++axis) {
      const std::string letter(1, "xyz"[axis]);
      head_.domain.lo[axis] = static_cast<std::int32_t>(attribute<std::int64_t>("tree_begin_" + letter));
      head_.domain.hi[axis] = static_cast<std::int32_t>(attribute<std::int64_t>("tree_end_" + letter));
      head_.periodic[at(axis)] = attribute<std::int64_t>("tree_periodic_" + letter);
    }
    require_fit(head_.levels > 0 && head_.levels <= finest_possible_level + 1 && !head_.domain.is_empty());
  }

  template <typename T>
  const std::vector<T>& column(const std::string& name) const {
    const auto* values = std::get_if<std::vector<T>>(&result_.column(name).values);
    require_fit(values != nullptr);
    return *values;
  }

  void read_blocks() {
    const auto& levels = column<std::int64_t>("block_level");
    blocks_.resize(levels.size());
    const auto set = [&](const std::string& name, auto member) {
      const auto& values = column<std::int64_t>(name);
      require_fit(values.size() == blocks_.size());
      for (std::size_t b = 0; b < blocks_.size(); ++b) member(blocks_[b], values[b]);
    };
    set("block_level", [](Block& block, std::int64_t value) { block.level = value; });
    set("block_runs", [](Block& block, std::int64_t value) { block.runs = value; });
    set("block_cells", [](Block& block, std::int64_t value) { block.cells = value; });
    set("block_maxima", [](Block& block, std::int64_t value) { block.maxima = value; });
    for (int axis = 0; axis < 3; ++axis) {
      const std::string letter(1, "xyz"[axis]);
      set("block_begin_" + letter,
          [=](Block& block, std::int64_t value) { block.box.lo[axis] = static_cast<std::int32_t>(value); });
      set("block_end_" + letter,
          [=](Block& block, std::int64_t value) { block.box.hi[axis] = static_cast<std::int32_t>(value); });
    }
  }

  // Contiguous pieces of the table of blocks, with nearly equal numbers of cells, go to the ranks; there blocks are
  // numbered level by level.
  void deal_blocks() {
    std::int64_t all = 0, before = 0, maxima = 0;
    for (const Block& block : blocks_) {
      require_fit(block.level >= 0 && block.level < head_.levels && block.runs > 0 && block.cells >= block.runs &&
                  block.maxima > 0 && block.maxima <= block.cells && !block.box.is_empty() &&
                  block.cells <= block.box.volume());
      all += block.cells;
    }
    for (Block& block : blocks_) {
      block.owner = static_cast<std::int32_t>(before * comm_.size() / std::max<std::int64_t>(all, 1));
      block.first_maximum = maxima;
      before += block.cells;
      maxima += block.maxima;
    }
    std::vector<std::int64_t> next(at(comm_.size()), 0);
    std::vector<std::vector<mesh::Box>> boxes(at(head_.levels));
    std::vector<std::vector<std::int32_t>> owners(boxes.size());
    for (std::int64_t level = 0; level < head_.levels; ++level)
      for (Block& block : blocks_)
        if (block.level == level) {
          block.start = static_cast<std::int32_t>(next[at(block.owner)]);
          next[at(block.owner)] += block.maxima;
          boxes[at(level)].push_back(block.box);
          owners[at(level)].push_back(block.owner);
        }
    for (int level = 0; level < static_cast<int>(head_.levels); ++level) {
      const Int3 bits = bits_between(head_.domain, level);
      const mesh::Periodicity periodic{head_.periodic[0] != 0, head_.periodic[1] != 0, head_.periodic[2] != 0};
      layouts_.emplace_back(refined(head_.domain, bits), periodic, boxes[at(level)], owners[at(level)], level);
      mesh::check(layouts_.back());
    }
  }

  std::vector<RowRange> ranges(std::int64_t Block::*rows) const {
    std::vector<RowRange> wanted(at(comm_.size()));
    std::int64_t before = 0;
    std::size_t b = 0;
    for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
      wanted[rank].begin = before;
      for (; b < blocks_.size() && blocks_[b].owner == static_cast<std::int32_t>(rank); ++b) before += blocks_[b].*rows;
      wanted[rank].end = before;
    }
    return wanted;
  }

  template <typename T>
  std::vector<T> fetch_as(const std::string& name, std::int64_t Block::*rows) const {
    std::vector<T> mine;
    comm_.agree_on([&] { mine = column<T>(name); });
    const auto wanted = ranges(rows);
    std::vector<T> values = dealt_rows(comm_, mine, wanted);
    const RowRange& range = wanted[at(comm_.rank())];
    comm_.agree_on([&] { require_fit(static_cast<std::int64_t>(values.size()) == range.end - range.begin); });
    return values;
  }
  std::vector<std::int64_t> fetch(const std::string& name, std::int64_t Block::*rows) const {
    return fetch_as<std::int64_t>(name, rows);
  }
  std::vector<double> fetch_reals(const std::string& name, std::int64_t Block::*rows) const {
    return fetch_as<double>(name, rows);
  }

  // Calls `f(block, starts)` for each block of this rank, level by level.
  template <typename F>
  void for_each_block_of_mine(F f) const {
    std::vector<std::pair<const Block*, Starts>> mine;
    Starts starts;
    for (const Block& block : blocks_) {
      if (block.owner != comm_.rank()) continue;
      mine.emplace_back(&block, starts);
      starts = {starts.runs + block.runs, starts.cells + block.cells, starts.maxima + block.maxima};
    }
    std::stable_sort(mine.begin(), mine.end(),
                     [](const auto& a, const auto& b) { return a.first->level < b.first->level; });
    for (const auto& [block, start] : mine) f(*block, start);
  }

  LeafField make_field(const std::string& name, double filler) const {
    const auto values = fetch_reals(name, &Block::cells);
    std::vector<std::shared_ptr<mesh::Field<double>>> levels;
    for (const mesh::Layout& layout : layouts_) {
      levels.push_back(std::make_shared<mesh::Field<double>>(layout, comm_.rank()));
      std::fill(levels.back()->all().begin(), levels.back()->all().end(), filler);
    }
    comm_.agree_on([&] {
      std::vector<int> next(layouts_.size(), 0);
      for_each_block_of_mine([&](const Block& block, const Starts& start) {
        fill(values, block, start, levels[at(block.level)]->view(next[at(block.level)]++));
      });
    });
    return {levels.begin(), levels.end()};
  }

  void fill(const std::vector<double>& values, const Block& block, const Starts& start, core::View4<double> to) const {
    std::int64_t cell = start.cells;
    for (std::int64_t r = start.runs; r < start.runs + block.runs; ++r) {
      const std::int64_t x = runs_[0][at(r)], y = runs_[1][at(r)], z = runs_[2][at(r)], length = runs_[3][at(r)];
      const auto is_in = [&](std::int64_t index, int axis) {
        return index >= block.box.lo[axis] && index < block.box.hi[axis];
      };
      require_fit(is_in(x, 0) && is_in(y, 1) && is_in(z, 2) && length > 0 && length <= block.box.hi.x - x &&
                  cell + length <= start.cells + block.cells);
      for (std::int64_t i = 0; i < length; ++i)
        to(static_cast<int>(z), static_cast<int>(y), static_cast<int>(x + i)) = values[at(cell++)];
    }
    require_fit(cell == start.cells + block.cells);
  }

  Peak peak_of_row(std::int64_t row, double height, std::int64_t cell) const {
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), row,
                                        [](std::int64_t r, const Block& block) { return r < block.first_maximum; });
    require_fit(after != blocks_.begin() && row - (after - 1)->first_maximum < (after - 1)->maxima);
    const Block& block = *(after - 1);
    return {height, cell, block.owner, block.start + static_cast<std::int32_t>(row - block.first_maximum)};
  }

  const comm::Communicator& comm_;
  const mesh::Result& result_;
  Head head_;
  TreeOptions options_;
  std::vector<Block> blocks_;
  std::vector<mesh::Layout> layouts_;
  std::array<std::vector<std::int64_t>, 4> runs_;
  LeafField field_;
};

StoredTree::StoredTree(const comm::Communicator& comm, const mesh::Result& result)
    : StoredTree(TreeReader(comm, result)) {}
StoredTree::StoredTree(TreeReader reader) : fields(reader.other_fields()), tree(reader.tree()) {}

}  // namespace sidestream::analysis
