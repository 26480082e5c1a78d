#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::io {

/// The order of the blocks of all levels (counted level by level) as grids of Enzo, which numbers them from 1 as it
/// walks down the tree: the grids of the coarsest level, then the children of the last of them, and so on.
struct EnzoTree {
  std::vector<std::int64_t> number;        ///< of each block's grid
  std::vector<std::int64_t> block;         ///< of each grid, that of number 1 first
  std::vector<std::int64_t> next_sibling;  ///< of each block with the same parent; -1: none
  std::vector<std::int64_t> first_child;   ///< of each block; -1: none
};

/// Throws a core::Error when a box lies outside those of the next coarser level.
EnzoTree enzo_tree(const std::vector<mesh::Layout>& levels);

/// The text of a hierarchy file, of the lines that describe each block.
std::string enzo_hierarchy_text(const EnzoTree& tree, const std::vector<std::string>& text_of_block);

inline constexpr std::int64_t most_particles = std::int64_t{1} << 44;  ///< beyond them a hierarchy is damaged

/// A grid as a hierarchy file of any origin describes it.
struct EnzoGrid {
  std::array<std::int64_t, 3> start{0, 0, 0}, end{0, 0, 0};  ///< first and last active cell in the grid's array
  std::array<std::int64_t, 3> dimension{1, 1, 1};            ///< cells of the array with ghost cells
  std::array<double, 3> left{0, 0, 0}, right{1, 1, 1};       ///< edges of the active cells
  std::int64_t fields = 0, particles = 0;
  std::string file;  ///< plain name of the file with its data; empty: there is none
  int level = -1;
};

/// The grids of a hierarchy file of a run of `rank` dimensions, in the order of their numbers. Damage is a core::Error.
std::vector<EnzoGrid> read_enzo_hierarchy(const std::string& path, int rank);

/// The `name = value` lines of a parameter file.
class EnzoParameters {
 public:
  explicit EnzoParameters(const std::string& path);

  bool has(const std::string& name) const { return values_.contains(name); }
  /// Throw a core::Error naming the file and the parameter when it is not there or not as expected.
  double number(const std::string& name) const;
  double number(const std::string& name, double otherwise) const { return has(name) ? number(name) : otherwise; }
  std::int64_t integer(const std::string& name, std::int64_t lowest, std::int64_t highest) const;
  std::vector<double> numbers(const std::string& name, int count) const;

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& problem) const;

  std::string path_;
  std::map<std::string, std::string> values_;
};

}  // namespace sidestream::io
