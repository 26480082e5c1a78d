#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/analysis/connectivity.hpp"

namespace sidestream::analysis {

/// The surroundings of a cell in which its higher neighbours may be connected with each other: its link. Sets of cells
/// of the link are masks; bit i is the cell at `offsets()[i]`.
class Link {
 public:
  using Mask = std::uint32_t;

  /// Made at the first call and kept.
  static const Link& of(Connectivity connectivity);

  /// By ascending index: z, then y, then x.
  std::span<const mesh::Int3> offsets() const { return offsets_; }
  /// The neighbours; other cells of the link only connect these.
  Mask neighbors() const { return neighbors_; }

  /// Whether all neighbours in `cells` are connected within `cells`.
  bool is_connected(Mask cells) const {
    if (!table_.empty()) return table_[cells] != 0;
    return find_connected(cells);
  }
  /// Calls `f(bit)` for one neighbour, the first, of each connected part of `cells` that has neighbours.
  template <typename F>
  void for_each_part(Mask cells, F f) const {
    for (Mask left = cells & neighbors_; left != 0;) {
      const int first = std::countr_zero(left);
      f(first);
      left &= ~part(cells, first);
    }
  }

 private:
  explicit Link(Connectivity connectivity);
  template <Connectivity connectivity>
  static const Link& kept();
  // The cells connected to `first` within `cells`.
  Mask part(Mask cells, int first) const;
  bool find_connected(Mask cells) const;

  std::vector<mesh::Int3> offsets_;
  Mask neighbors_ = 0;
  std::vector<Mask> touching_;       // for each cell of the link its neighbours in it
  std::vector<std::uint8_t> table_;  // for each set whether it is connected, where there are few enough
};

}  // namespace sidestream::analysis
