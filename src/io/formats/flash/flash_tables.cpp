#include "io/formats/flash/flash_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "io/formats/flash/flash_units.hpp"
#include "io/formats/vocabulary.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

namespace {

constexpr std::int32_t no_block = -1, outside = -20;
constexpr std::int32_t leaf = 1, parent_of_leaves = 2, ancestor = 3;

Int3 divided(Int3 a, Int3 by) {
  return {a.x / by.x, a.y / by.y, a.z / by.z};
}

constexpr std::size_t letters = 4;  // of the name of a variable

// Names of variables of one file, each once.
class VariableNames {
 public:
  explicit VariableNames(const std::vector<std::string>& taken) : taken_(taken.begin(), taken.end()) {}

  // `name`, or with other last letters when it is taken.
  std::string distinct(const std::string& name) {
    if (taken_.insert(name).second) return name;
    const std::string stem = name.substr(0, letters);
    for (int& number = next_[stem];; ++number) {
      const std::string digits = fmt::format("{}", number);
      if (digits.size() > letters)
        throw core::Error("so many variables cannot be told apart by the four letters of FLASH", name,
                          "choose another format, or name variables by four letters that differ");
      const std::string other = stem.substr(0, letters - digits.size()) + digits;
      if (taken_.insert(other).second) return other;
    }
  }

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> next_;  // of a stem, the first number that may be free
};

std::string property_name(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> words{{{"xvel", "velx"},
                                                                                {"yvel", "vely"},
                                                                                {"zvel", "velz"},
                                                                                {"vx", "velx"},
                                                                                {"vy", "vely"},
                                                                                {"vz", "velz"},
                                                                                {species_column, "type"}}};
  for (const auto& [ours, flash] : words)
    if (name == ours) return std::string(flash);
  return name.substr(0, 24);
}

int dimensions_of(const Box& domain) {
  const Int3 cells = domain.extent();
  return cells.z > 1 ? 3 : cells.y > 1 ? 2 : 1;
}

// The tree of the blocks, as numbers from 1 on.
class Tree {
 public:
  explicit Tree(const FileContent& content)
      : levels_(content.state.levels),
        periodic_(content.state.geometry.periodic),
        starts_(block_starts(content)),
        block_(content.state.levels.front().box(0).extent()),
        dimensions_(dimensions_of(content.state.geometry.domain)) {
    for (int axis = 0; axis < 3; ++axis) ratio_[axis] = content.state.geometry.domain.extent()[axis] > 1 ? 2 : 1;
  }

  void append(std::size_t level, std::int32_t index, FlashTables& tables) const {
    const Int3 lo = levels_[level].box(index).lo;
    for (int axis = 0; axis < dimensions_; ++axis)
      for (const int side : {-1, 1}) tables.gid.push_back(neighbor(level, lo, axis, side));
    tables.gid.push_back(level == 0 ? no_block : number_at(level - 1, divided(lo, ratio_)));
    std::int32_t type = leaf;
    for (int child = 0; child < 1 << dimensions_; ++child) {
      const std::int32_t number = number_of_child(level, lo, child);
      tables.gid.push_back(number);
      if (number == no_block) continue;
      const bool is_leaf = !has_children(level + 1, child_at(lo, child));
      type = is_leaf || type == parent_of_leaves ? parent_of_leaves : ancestor;
    }
    tables.node_type.push_back(type);
  }

 private:
  std::int32_t number_at(std::size_t level, Int3 cell) const {
    const std::int32_t index = levels_[level].find(cell);
    return index < 0 ? no_block : static_cast<std::int32_t>(starts_[level] + index + 1);
  }
  std::int32_t neighbor(std::size_t level, Int3 lo, int axis, int side) const {
    const std::int32_t cells = levels_[level].domain().extent()[axis];
    Int3 cell = lo;
    cell[axis] += side * block_[axis];
    if (cell[axis] < 0 || cell[axis] >= cells) {
      if (!periodic_[static_cast<std::size_t>(axis)]) return outside;
      cell[axis] = mesh::wrapped(cell[axis], cells);
    }
    return number_at(level, cell);
  }
  Int3 child_at(Int3 lo, int child) const {
    Int3 cell;
    for (int axis = 0; axis < 3; ++axis) cell[axis] = ratio_[axis] * lo[axis] + (child >> axis & 1) * block_[axis];
    return cell;
  }
  std::int32_t number_of_child(std::size_t level, Int3 lo, int child) const {
    for (int axis = 0; axis < dimensions_; ++axis)
      if ((child >> axis & 1) != 0 && ratio_[axis] == 1) return no_block;
    return level + 1 == levels_.size() ? no_block : number_at(level + 1, child_at(lo, child));
  }
  bool has_children(std::size_t level, Int3 lo) const { return number_of_child(level, lo, 0) != no_block; }

  const std::vector<Layout>& levels_;
  const mesh::Periodicity& periodic_;
  std::vector<std::int64_t> starts_;
  Int3 block_, ratio_{1, 1, 1};
  int dimensions_;
};

void append_box(const FileContent& content, std::size_t level, const Box& box, FlashTables& tables) {
  const Int3 cells = content.state.levels[level].domain().extent();
  for (int axis = 0; axis < 3; ++axis) {
    const double length = content.state.geometry.length[static_cast<std::size_t>(axis)];
    const double low = length * box.lo[axis] / cells[axis], high = length * box.hi[axis] / cells[axis];
    tables.bounding_box.push_back(low);
    tables.bounding_box.push_back(high);
    tables.coordinates.push_back(0.5 * (low + high));
    tables.block_size.push_back(length * (box.hi[axis] - box.lo[axis]) / cells[axis]);
  }
}

std::int32_t in_32_bits(std::int64_t number) {
  return static_cast<std::int32_t>(std::min<std::int64_t>(number, std::numeric_limits<std::int32_t>::max()));
}

void set_integers(const FileContent& content, std::int64_t particles, FlashTables& tables) {
  const Int3 roots = divided(content.state.geometry.domain.extent(), tables.block_cells);
  tables.integer_scalars = {{"nxb", tables.block_cells.x},
                            {"nyb", tables.block_cells.y},
                            {"nzb", tables.block_cells.z},
                            {"globalnumblocks", in_32_bits(tables.blocks)},
                            {"globalnumparticles", in_32_bits(particles)},
                            {"dimensionality", tables.dimensions},
                            {"nstep", in_32_bits(content.state.moment.step)}};
  tables.integer_parameters = {{"nblockx", roots.x},
                               {"nblocky", roots.y},
                               {"nblockz", roots.z},
                               {"lrefine_min", 1},
                               {"lrefine_max", static_cast<std::int32_t>(content.state.levels.size())}};
}

void set_reals(const FileContent& content, FlashTables& tables) {
  const auto dt = content.kept().find("dt");
  tables.real_scalars = {{"time", content.state.moment.time}, {"dt", dt == content.kept().end() ? 0.0 : dt->second}};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    tables.real_parameters.emplace_back(fmt::format("{}min", "xyz"[axis]), 0.0);
    tables.real_parameters.emplace_back(fmt::format("{}max", "xyz"[axis]), content.state.geometry.length[axis]);
  }
  tables.real_parameters.emplace_back("gamma", content.state.gamma);
  if (content.attribute("hubble") == 0.0) return;
  tables.real_scalars.emplace_back("redshift", 1.0 / content.state.moment.scale_factor.value_or(1.0) - 1.0);
  tables.real_scalars.emplace_back("scalefactor", content.state.moment.scale_factor.value_or(1.0));
  tables.real_parameters.emplace_back("omegamatter", content.attribute("omega_m"));
  tables.real_parameters.emplace_back("cosmologicalconstant", content.attribute("omega_lambda"));
  tables.real_parameters.emplace_back("hubbleconstant", content.attribute("hubble") * hubble_100_per_second);
}

void set_texts(const FileContent& content, FlashTables& tables) {
  tables.string_parameters.emplace_back("geometry", "cartesian");
  tables.string_parameters.emplace_back("basenm", "sidestream_");
  tables.string_parameters.emplace_back("unitsystem", content.state.length_unit == "cm" ? "cgs" : "none");
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const char side : {'l', 'r'})
      tables.string_parameters.emplace_back(fmt::format("{}{}_boundary_type", "xyz"[axis], side),
                                            content.state.geometry.periodic[axis] ? "periodic" : "outflow");
  if (content.attribute("hubble") != 0.0) tables.logical_parameters.emplace_back("usecosmology", 1);
}

}  // namespace

std::vector<std::string> flash_variables(const FileContent& content) {
  const std::vector<std::string> words = flash_words();
  std::vector<std::string> names;
  VariableNames own(words);
  for (const mesh::Quantity& field : content.fields()) {
    const std::string name = flash_name(field.name);
    const bool is_known = std::ranges::find(words, name) != words.end() && name_of_flash(name) == field.name;
    names.push_back(is_known ? name : own.distinct(name));
  }
  return names;
}

std::vector<std::string> flash_particle_properties(const FileContent& content) {
  std::vector<std::string> names{"blk", "posx", "posy", "posz", "proc", "tag"};
  for (const mesh::ParticleNumber& real : content.particles.numbers) {
    const std::string wanted = property_name(real.name);
    std::string name = wanted;
    for (int number = 2; std::ranges::find(names, name) != names.end(); ++number)
      name = fmt::format("{}_{}", wanted.substr(0, 20), number);
    names.push_back(name);
  }
  return names;
}

Int3 check_flash_blocks(const FileContent& content) {
  const Int3 block = content.state.levels.front().box(0).extent();
  for (const Layout& level : content.state.levels)
    for (const Box& box : level.boxes()) {
      bool is_good = box.extent() == block;
      for (int axis = 0; axis < 3; ++axis) is_good = is_good && box.lo[axis] % block[axis] == 0;
      if (!is_good)
        throw core::Error(fmt::format("a FLASH file takes blocks of equal size, not {} beside {}", mesh::to_string(box),
                                      mesh::to_string(content.state.levels.front().box(0))),
                          "", "choose a size of blocks that divides the domain, or another format");
    }
  return block;
}

FlashTables flash_tables(const FileContent& content, const std::vector<std::int64_t>& particles_of_blocks) {
  FlashTables tables;
  tables.block_cells = check_flash_blocks(content);
  tables.blocks = block_starts(content).back();
  tables.dimensions = dimensions_of(content.state.geometry.domain);
  tables.gid_width = 2 * tables.dimensions + 1 + (1 << tables.dimensions);
  const Tree tree(content);
  for (std::size_t level = 0; level < content.state.levels.size(); ++level) {
    const Layout& layout = content.state.levels[level];
    for (std::int32_t index = 0; index < layout.size(); ++index) {
      tree.append(level, index, tables);
      append_box(content, level, layout.box(index), tables);
      tables.refine_level.push_back(static_cast<std::int32_t>(level) + 1);
      tables.processor.push_back(layout.owner(index));
    }
  }
  for (const std::int64_t count : particles_of_blocks) tables.particles_of_blocks.push_back(in_32_bits(count));
  set_integers(content, std::accumulate(particles_of_blocks.begin(), particles_of_blocks.end(), std::int64_t{0}),
               tables);
  set_reals(content, tables);
  set_texts(content, tables);
  return tables;
}

}  // namespace sidestream::io
