#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sidestream/analysis/connectivity.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

class TreeReader;

/// Which sets of cells a merge tree is about: those at or above a threshold (halos), or at or below it (voids).
enum class Sets { above, below };

/// The highest cell of a component, and where it lives. In a tree of sets below a threshold "high" means low: heights
/// are values with their sign changed. Ordered by height; of equal ones the cell with the smaller index is the higher.
struct Peak {
  double height = 0.0;
  std::int64_t cell = 0;                ///< linear index in the domain of the finest level, of its lowest corner
  std::int32_t rank = -1, maximum = 0;  ///< the rank that has the cell, its number for the maximum; -1: no peak

  friend bool operator<(const Peak& a, const Peak& b) {
    return a.height != b.height ? a.height < b.height : a.cell > b.cell;
  }
  friend bool operator==(const Peak& a, const Peak& b) { return a.cell == b.cell; }
};

/// A cell where branches meet; ordered as peaks are.
struct Saddle {
  double height = -std::numeric_limits<double>::infinity();
  std::int64_t cell = -1;  ///< -1 where nothing meets

  friend bool operator<(const Saddle& a, const Saddle& b) {
    return a.height != b.height ? a.height < b.height : a.cell > b.cell;
  }
  friend bool operator==(const Saddle&, const Saddle&) = default;
};

/// A branch of a merge tree in the triplet form (Smirnov & Morozov 2017): going down from its maximum, at its saddle it
/// meets a branch with a higher maximum, and ends. Cells are linear indices in the order z, y, x, on a refined mesh of
/// the finest level.
struct Branch {
  std::int64_t maximum = 0;
  double birth = 0.0;                                       ///< value at the maximum
  std::int64_t saddle = -1;                                 ///< -1 for a branch that never ends
  double death = -std::numeric_limits<double>::infinity();  ///< value at the saddle; +infinity for sets below
  std::int64_t parent = -1;                                 ///< maximum of the branch it joins; -1 if none

  double persistence() const { return birth > death ? birth - death : death - birth; }
  friend bool operator==(const Branch&, const Branch&) = default;
};

/// A field on the leaves by name.
struct NamedField {
  std::string name, unit;
  LeafField field;
};

struct TreeOptions {
  Connectivity connectivity = Connectivity::freudenthal;
  Sets sets = Sets::above;
  /// Cells of a lower height are left out; what would merge below it never does.
  double cut_off = -std::numeric_limits<double>::infinity();  ///< a height
  int threads = 1;                                            ///< of this rank
};

/// How the components of {f >= t} appear and merge as t falls: distributed, exact, for every t at once. Each rank holds
/// for its own cells the maximum that each leads up to, and for each of its maxima the saddle where its branch ends and
/// the branch that goes on; nothing else. Of two components that meet, the one with the lower maximum ends (elder
/// rule).
class MergeTree {
 public:
  /// The levels of `field` must outlive the tree. Collective. Messages pass only between ranks whose blocks or whose
  /// components touch. Throws core::Error on all ranks for a value that is not finite, naming a cell.
  MergeTree(const comm::Communicator& comm, LeafField field, const TreeOptions& options = {});
  ~MergeTree();
  MergeTree(MergeTree&&) noexcept;
  MergeTree& operator=(MergeTree&&) noexcept;

  const TreeOptions& options() const;
  const LeafField& field() const;

  /// The branches whose maxima this rank owns, by descending maximum. Collective.
  std::vector<Branch> branches() const;
  /// Their number on all ranks. Collective.
  std::int64_t count_branches() const;
  /// All of them on rank 0 (empty elsewhere): the persistence diagram. Collective.
  std::vector<Branch> all_branches() const;

  /// Number of connected components of the cells at or above `threshold`; of those whose maximum reaches `t_halo`.
  /// Collective. Here and below thresholds are values of the field, not heights.
  std::int64_t components(double threshold) const;
  std::int64_t components(double threshold, double t_halo) const;
  /// Whether two cells (linear indices as in `Branch`) lie in one component of the cells at or above `threshold`.
  /// Collective.
  bool connected(std::int64_t a, std::int64_t b, double threshold) const;
  /// The maximum of the component that the cell lies in, or -1 if it lies in none. Collective.
  std::int64_t component_of(std::int64_t cell, double threshold) const;

  /// The tree as columns of distributed dimensions `tree_block`, `tree_run`, `tree_cell` and `tree_maximum`, with all
  /// that queries need: the blocks that have cells of the tree, these cells with the maximum they lead up to and the
  /// values of the tree's field and of `more` fields on the same layouts, and the maxima with the ends of their
  /// branches. Collective.
  mesh::Result to_result(const std::vector<NamedField>& more = {}) const;

 private:
  friend class Components;
  friend class TreeReader;
  class Impl;
  explicit MergeTree(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A tree from what `to_result` gave, dealt in any way to the ranks of `comm`; and the fields stored with it, on
/// layouts that hold no more than the cells of the tree. Collective. Throws core::Error on all ranks for tables that do
/// not fit together.
struct StoredTree {
  StoredTree(const comm::Communicator& comm, const mesh::Result& result);
  std::vector<NamedField> fields;  ///< besides the tree's own
  MergeTree tree;

 private:
  explicit StoredTree(TreeReader reader);
};

/// Without the branches of a persistence below `least`.
std::vector<Branch> simplified(std::span<const Branch> branches, double least);

}  // namespace sidestream::analysis
