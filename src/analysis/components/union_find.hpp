#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sidestream::analysis {

/// Disjoint sets of the numbers 0 ... size - 1. The root of a set is its smallest member.
class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), std::int32_t{0}); }

  std::int32_t find(std::int32_t member) {
    while (parent(member) != member) member = parent(member) = parent(parent(member));
    return member;
  }
  void unite(std::int32_t a, std::int32_t b) {
    a = find(a);
    b = find(b);
    if (a < b) parent(b) = a;
    if (b < a) parent(a) = b;
  }

  /// Numbers the sets from 0 in the order of their roots: the number of the set of each member. Uses the sets up.
  std::vector<std::int32_t> take_numbers(std::int32_t& count) {
    count = 0;
    for (std::size_t m = 0; m < parent_.size(); ++m) {
      const auto up = static_cast<std::size_t>(parent_[m]);
      parent_[m] = up == m ? count++ : parent_[up];
    }
    return std::move(parent_);
  }

 private:
  std::int32_t& parent(std::int32_t member) { return parent_[static_cast<std::size_t>(member)]; }

  std::vector<std::int32_t> parent_;
};

}  // namespace sidestream::analysis
