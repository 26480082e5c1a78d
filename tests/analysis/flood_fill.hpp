#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/grid.hpp"

namespace sidestream::test {

/// The plain twin of the halo finder: neighbours by their definition, components by flood fill.
class FloodFill {
 public:
  struct Group {
    std::int64_t peak = 0, cells = 0;
    double height = 0.0, sum = 0.0;
  };

  FloodFill(const Grid& grid, double threshold, int connectivity, mesh::Periodicity periodic = {true, true, true})
      : grid_(grid), connectivity_(connectivity), periodic_(periodic), group_of_(grid.values.size(), -1) {
    for (std::size_t start = 0; start < grid.values.size(); ++start)
      if (grid.values[start] >= threshold && group_of_[start] < 0) fill(start, threshold);
  }

  const std::vector<Group>& groups() const { return groups_; }
  /// Index of the peak of the component of each cell, if that reaches `t_halo`; -1 for the others.
  std::vector<std::int64_t> membership(double t_halo) const {
    std::vector<std::int64_t> ids;
    for (const int group : group_of_) {
      const bool is_halo = group >= 0 && groups_[static_cast<std::size_t>(group)].height >= t_halo;
      ids.push_back(is_halo ? groups_[static_cast<std::size_t>(group)].peak : -1);
    }
    return ids;
  }
  std::map<std::int64_t, Group> halos(double t_halo) const {
    std::map<std::int64_t, Group> found;
    for (const Group& group : groups_)
      if (group.height >= t_halo) found[group.peak] = group;
    return found;
  }

 private:
  bool are_neighbors(int dx, int dy, int dz) const {
    const int distance = std::abs(dx) + std::abs(dy) + std::abs(dz);
    if (distance == 0) return false;
    if (connectivity_ == 6) return distance == 1;
    if (connectivity_ == 26) return true;
    return (dx >= 0 && dy >= 0 && dz >= 0) || (dx <= 0 && dy <= 0 && dz <= 0);
  }
  bool wrap(int& i, int n, bool is_periodic) const {
    if (i >= 0 && i < n) return true;
    i = (i + n) % n;
    return is_periodic;
  }
  void fill(std::size_t start, double threshold) {
    Group group{static_cast<std::int64_t>(start), 0, grid_.values[start], 0.0};
    std::vector<std::size_t> open{start};
    const int number = static_cast<int>(groups_.size());
    group_of_[start] = number;
    while (!open.empty()) {
      const std::size_t cell = open.back();
      open.pop_back();
      const double value = grid_.values[cell];
      ++group.cells;
      group.sum += value;
      const auto index = static_cast<std::int64_t>(cell);
      if (value > group.height || (value == group.height && index < group.peak)) {
        group.height = value;
        group.peak = index;
      }
      visit_neighbors(index, [&](std::size_t to) {
        if (grid_.values[to] < threshold || group_of_[to] >= 0) return;
        group_of_[to] = number;
        open.push_back(to);
      });
    }
    groups_.push_back(group);
  }
  template <typename F>
  void visit_neighbors(std::int64_t cell, F f) const {
    const auto n = grid_.cells;
    const int x = static_cast<int>(cell % n.x), y = static_cast<int>(cell / n.x % n.y),
              z = static_cast<int>(cell / n.x / n.y);
    for (int dz = -1; dz <= 1; ++dz)
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          int to_x = x + dx, to_y = y + dy, to_z = z + dz;
          if (!are_neighbors(dx, dy, dz)) continue;
          if (wrap(to_x, n.x, periodic_[0]) & wrap(to_y, n.y, periodic_[1]) & wrap(to_z, n.z, periodic_[2]))
            f(static_cast<std::size_t>(grid_.index(to_z, to_y, to_x)));
        }
  }

  const Grid& grid_;
  int connectivity_;
  mesh::Periodicity periodic_;
  std::vector<int> group_of_;
  std::vector<Group> groups_;
};

}  // namespace sidestream::test
