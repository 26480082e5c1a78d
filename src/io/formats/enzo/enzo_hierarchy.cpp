#include "io/formats/enzo/enzo_hierarchy.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "io/text/text_reader.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace {

constexpr std::int64_t most_grids = std::int64_t{1} << 31;
constexpr std::int64_t most_cells_of_axis = 1 << 20;
constexpr int most_levels = 32;

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? "" : text.substr(begin, end - begin + 1);
}

// --- the tree of our blocks

// Calls `visit(block)` for a chain of siblings, then `visited(block)` and the same for the children of each, the last
// first: the order in which Enzo walks.
template <typename Visit, typename Visited>
void walk(const EnzoTree& tree, std::int64_t first, const Visit& visit, const Visited& visited) {
  std::vector<std::int64_t> siblings;
  for (std::int64_t block = first; block >= 0; block = tree.next_sibling[static_cast<std::size_t>(block)]) {
    siblings.push_back(block);
    visit(block);
  }
  for (; !siblings.empty(); siblings.pop_back()) {
    visited(siblings.back());
    walk(tree, tree.first_child[static_cast<std::size_t>(siblings.back())], visit, visited);
  }
}

mesh::Int3 coarser_cell(const mesh::Layout& coarse, const mesh::Layout& fine, mesh::Int3 cell) {
  for (int axis = 0; axis < 3; ++axis)
    cell[axis] = static_cast<std::int32_t>(std::int64_t{cell[axis]} * coarse.domain().extent()[axis] /
                                           fine.domain().extent()[axis]);
  return cell;
}

}  // namespace

EnzoTree enzo_tree(const std::vector<mesh::Layout>& levels) {
  EnzoTree tree;
  std::vector<std::int64_t> last_child;
  std::int64_t coarse_start = 0, start = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    for (std::int32_t i = 0; i < levels[level].size(); ++i) {
      const std::int64_t block = start + i;
      tree.next_sibling.push_back(-1);
      tree.first_child.push_back(-1);
      last_child.push_back(-1);
      if (level == 0) {
        if (i > 0) tree.next_sibling[static_cast<std::size_t>(block - 1)] = block;
        continue;
      }
      const std::int32_t parent =
          levels[level - 1].find(coarser_cell(levels[level - 1], levels[level], levels[level].box(i).lo));
      if (parent < 0)
        throw core::Error(fmt::format("box {} of level {} lies outside the boxes of the next coarser level",
                                      mesh::to_string(levels[level].box(i)), level));
      const auto p = static_cast<std::size_t>(coarse_start + parent);
      (last_child[p] < 0 ? tree.first_child[p] : tree.next_sibling[static_cast<std::size_t>(last_child[p])]) = block;
      last_child[p] = block;
    }
    coarse_start = start;
    start += levels[level].size();
  }
  tree.number.resize(static_cast<std::size_t>(start));
  walk(
      tree, start > 0 ? 0 : -1,
      [&](std::int64_t block) {
        tree.block.push_back(block);
        tree.number[static_cast<std::size_t>(block)] = static_cast<std::int64_t>(tree.block.size());
      },
      [](std::int64_t) {});
  return tree;
}

std::string enzo_hierarchy_text(const EnzoTree& tree, const std::vector<std::string>& text_of_block) {
  std::string text;
  const auto number = [&](std::int64_t block) { return block < 0 ? 0 : tree.number[static_cast<std::size_t>(block)]; };
  walk(
      tree, tree.number.empty() ? -1 : 0,
      [&](std::int64_t block) {
        const auto b = static_cast<std::size_t>(block);
        text += fmt::format("\nGrid = {}\n{}Pointer: Grid[{}]->NextGridThisLevel = {}\n", number(block),
                            text_of_block[b], number(block), number(tree.next_sibling[b]));
      },
      [&](std::int64_t block) {
        text += fmt::format("Pointer: Grid[{}]->NextGridNextLevel = {}\n", number(block),
                            number(tree.first_child[static_cast<std::size_t>(block)]));
      });
  return text;
}

// --- reading
// -------------------------------------------------------------------------------------------------------------------

namespace {

struct Pointer {
  std::int64_t from = 0, to = 0;
  bool is_next_level = false;
};

// Reads a hierarchy file line by line; lines that it does not know are left out.
class HierarchyReader {
 public:
  HierarchyReader(const std::string& path, int rank) : reader_(path), rank_(rank) {}

  std::vector<EnzoGrid> operator()() {
    while (!reader_.at_end()) read_line(reader_.line("a line"));
    if (grids_.empty()) reader_.fail("the hierarchy has no grid");
    set_levels();
    return std::move(grids_);
  }

 private:
  void read_line(std::string_view line) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) return;
    const std::string_view name = trimmed(line.substr(0, equals)), value = trimmed(line.substr(equals + 1));
    if (name == "Grid") {
      if (integer(value, 1, most_grids) != static_cast<std::int64_t>(grids_.size()) + 1)
        reader_.fail(fmt::format("grid {} expected", grids_.size() + 1));
      grids_.emplace_back();
    } else if (name.starts_with("Pointer:")) {
      read_pointer(name, integer(value, 0, most_grids));
    } else if (!grids_.empty()) {
      read_value(grids_.back(), name, value);
    }
  }

  void read_value(EnzoGrid& grid, std::string_view name, std::string_view value) {
    if (name == "GridDimension") read_integers(value, grid.dimension);
    if (name == "GridStartIndex") read_integers(value, grid.start);
    if (name == "GridEndIndex") read_integers(value, grid.end);
    if (name == "GridLeftEdge") read_edges(value, grid.left);
    if (name == "GridRightEdge") read_edges(value, grid.right);
    if (name == "NumberOfBaryonFields") grid.fields = integer(value, 0, 4096);
    if (name == "NumberOfParticles") grid.particles = integer(value, 0, most_particles);
    if (name == "BaryonFileName" || name == "ParticleFileName" || name == "FileName")
      grid.file = std::string(value.substr(value.rfind('/') + 1));
  }

  // Pointer: Grid[7]->NextGridThisLevel
  void read_pointer(std::string_view name, std::int64_t to) {
    const auto open = name.find('['), close = name.find(']');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open)
      reader_.fail("`Pointer: Grid[N]->...` expected");
    const std::string_view which = name.substr(close + 1);
    if (which != "->NextGridThisLevel" && which != "->NextGridNextLevel")
      reader_.fail("a pointer to the next grid on this level or the next level expected");
    pointers_.push_back(
        {integer(name.substr(open + 1, close - open - 1), 1, most_grids), to, which == "->NextGridNextLevel"});
  }

  std::int64_t integer(std::string_view text, std::int64_t lowest, std::int64_t highest) const {
    try {
      const auto values = integers_in(text);
      if (values.size() == 1 && lowest <= values[0] && values[0] <= highest) return values[0];
    } catch (const std::invalid_argument&) {
    }
    reader_.fail(fmt::format("an integer from {} to {} expected, not `{}`", lowest, highest, text.substr(0, 40)));
  }

  void read_integers(std::string_view text, std::array<std::int64_t, 3>& into) const {
    try {
      const auto values = integers_in(text);
      if (static_cast<int>(values.size()) < rank_) throw std::invalid_argument("too few numbers");
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank_); ++axis) {
        if (values[axis] < 0 || values[axis] > most_cells_of_axis) throw std::invalid_argument("an absurd index");
        into[axis] = values[axis];
      }
    } catch (const std::invalid_argument& problem) {
      reader_.fail(fmt::format("{} indices expected: {}", rank_, problem.what()));
    }
  }

  void read_edges(std::string_view text, std::array<double, 3>& into) const {
    try {
      const auto values = numbers_in(text);
      if (static_cast<int>(values.size()) < rank_) throw std::invalid_argument("too few numbers");
      for (std::size_t axis = 0; axis < static_cast<std::size_t>(rank_); ++axis) {
        if (!std::isfinite(values[axis])) throw std::invalid_argument("an edge is not finite");
        into[axis] = values[axis];
      }
    } catch (const std::invalid_argument& problem) {
      reader_.fail(fmt::format("{} edges expected: {}", rank_, problem.what()));
    }
  }

  // Each grid but the first has one pointer to it.
  void set_levels() {
    const auto count = static_cast<std::int64_t>(grids_.size());
    std::vector<std::vector<Pointer>> of_grid(grids_.size());
    for (const Pointer& pointer : pointers_) {
      if (pointer.from > count || pointer.to > count)
        reader_.fail(fmt::format("a pointer from grid {} to {} of {}", pointer.from, pointer.to, count));
      if (pointer.to > 0) of_grid[static_cast<std::size_t>(pointer.from - 1)].push_back(pointer);
    }
    std::vector<std::int64_t> waiting{1};
    grids_[0].level = 0;
    std::int64_t visited = 0;
    while (!waiting.empty()) {
      const auto from = static_cast<std::size_t>(waiting.back() - 1);
      waiting.pop_back();
      ++visited;
      for (const Pointer& pointer : of_grid[from]) {
        EnzoGrid& grid = grids_[static_cast<std::size_t>(pointer.to - 1)];
        if (grid.level >= 0) reader_.fail(fmt::format("two pointers to grid {}", pointer.to));
        grid.level = grids_[from].level + (pointer.is_next_level ? 1 : 0);
        if (grid.level >= most_levels) reader_.fail(fmt::format("more than {} levels", most_levels));
        waiting.push_back(pointer.to);
      }
    }
    if (visited != count) reader_.fail(fmt::format("no pointer leads to {} of the {} grids", count - visited, count));
  }

  TextReader reader_;
  int rank_;
  std::vector<EnzoGrid> grids_;
  std::vector<Pointer> pointers_;
};

}  // namespace

std::vector<EnzoGrid> read_enzo_hierarchy(const std::string& path, int rank) {
  return HierarchyReader(path, rank)();
}

EnzoParameters::EnzoParameters(const std::string& path) : path_(path) {
  TextReader reader(path);
  while (!reader.at_end()) {
    const std::string_view line = reader.line("a line");
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    values_[std::string(trimmed(line.substr(0, equals)))] = std::string(trimmed(line.substr(equals + 1)));
  }
}

void EnzoParameters::fail(const std::string& name, const std::string& problem) const {
  throw core::Error(fmt::format("the parameter `{}`: {}", name, problem), path_,
                    "the file is damaged or of another kind");
}

// Words behind the numbers, such as "(do not edit)", do not count.
std::vector<double> EnzoParameters::numbers(const std::string& name, int count) const {
  const auto found = values_.find(name);
  if (found == values_.end()) fail(name, "it is not there");
  std::vector<double> values;
  std::string_view rest = found->second;
  while (static_cast<int>(values.size()) < count) {
    rest = trimmed(rest);
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    try {
      const auto parsed = numbers_in(word);
      if (parsed.size() != 1 || !std::isfinite(parsed[0])) throw std::invalid_argument("a number is missing");
      values.push_back(parsed[0]);
    } catch (const std::invalid_argument& problem) {
      fail(name, fmt::format("{} numbers expected: {}", count, problem.what()));
    }
    rest.remove_prefix(word.size());
  }
  return values;
}

double EnzoParameters::number(const std::string& name) const {
  return numbers(name, 1)[0];
}

std::int64_t EnzoParameters::integer(const std::string& name, std::int64_t lowest, std::int64_t highest) const {
  const double value = number(name);
  if (value != std::floor(value) || value < static_cast<double>(lowest) || value > static_cast<double>(highest))
    fail(name, fmt::format("an integer from {} to {} expected", lowest, highest));
  return static_cast<std::int64_t>(value);
}

}  // namespace sidestream::io
