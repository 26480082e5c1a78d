#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "sidestream/analysis/merge_tree.hpp"

// The merge tree by its definition: one sweep over all cells from high to low, with union-find.
namespace sidestream::test::vertex_sweep {

using analysis::Branch;
using analysis::Connectivity;
using Cell = std::int32_t;

struct Vertex {
  double value;
  Cell cell;
};

// Larger values first; of equal ones the smaller index.
inline bool is_higher(const Vertex& a, const Vertex& b) {
  return a.value != b.value ? a.value > b.value : a.cell < b.cell;
}

inline std::vector<Vertex> sorted_vertices(std::span<const double> values, double cut_off) {
  std::vector<Vertex> vertices;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] >= cut_off) vertices.push_back({values[i], static_cast<Cell>(i)});
  }
  std::sort(vertices.begin(), vertices.end(), is_higher);
  return vertices;
}

// The neighbours of a cell, quickly where no boundary is near.
class Neighbors {
 public:
  Neighbors(mesh::Int3 cells, mesh::Periodicity periodic, Connectivity connectivity)
      : cells_(cells), periodic_(periodic), offsets_(neighbor_offsets(connectivity)) {
    for (const mesh::Int3 offset : offsets_) steps_.push_back((offset.z * cells.y + offset.y) * cells.x + offset.x);
  }

  template <typename F>
  void for_each(Cell cell, F f) const {
    const Cell row = cell / cells_.x;
    const mesh::Int3 at{cell % cells_.x, row % cells_.y, row / cells_.y};
    if (is_interior(at)) {
      for (const Cell step : steps_) f(cell + step);
      return;
    }
    for (const mesh::Int3 offset : offsets_) {
      mesh::Int3 to = at + offset;
      if (wrap(to)) f((to.z * cells_.y + to.y) * cells_.x + to.x);
    }
  }

 private:
  bool is_interior(mesh::Int3 at) const {
    return at.x > 0 && at.y > 0 && at.z > 0 && at.x < cells_.x - 1 && at.y < cells_.y - 1 && at.z < cells_.z - 1;
  }
  // False if the cell lies beyond a boundary that is not periodic.
  bool wrap(mesh::Int3& to) const {
    for (int axis = 0; axis < 3; ++axis) {
      if (to[axis] >= 0 && to[axis] < cells_[axis]) continue;
      if (!periodic_[static_cast<std::size_t>(axis)]) return false;
      to[axis] = mesh::wrapped(to[axis], cells_[axis]);
    }
    return true;
  }

  mesh::Int3 cells_;
  mesh::Periodicity periodic_;
  std::vector<mesh::Int3> offsets_;
  std::vector<Cell> steps_;
};

// Union-find over the cells passed so far, in which the root of a set is its highest cell.
class Sweep {
 public:
  Sweep(std::span<const double> values, const Neighbors& neighbors)
      : values_(values), neighbors_(neighbors), up_(values.size(), -1) {}

  void pass(const Vertex& vertex) {
    count_ = 0;
    neighbors_.for_each(vertex.cell, [this](Cell neighbor) {
      if (up(neighbor) < 0) return;
      const Cell root = find(neighbor);
      if (std::find(roots_.begin(), roots_.begin() + count_, root) == roots_.begin() + count_)
        roots_[static_cast<std::size_t>(count_++)] = root;
    });
    if (count_ == 0) {
      up(vertex.cell) = vertex.cell;
      maxima_.push_back(vertex.cell);
      return;
    }
    const Cell elder = *std::min_element(roots_.begin(), roots_.begin() + count_, [this](Cell a, Cell b) {
      return is_higher({value(a), a}, {value(b), b});
    });
    up(vertex.cell) = elder;
    for (int r = 0; r < count_; ++r)
      if (const Cell root = roots_[static_cast<std::size_t>(r)]; root != elder) {
        up(root) = elder;
        ended_.push_back({root, value(root), vertex.cell, vertex.value, elder});
      }
  }

  // All branches by descending maximum.
  std::vector<Branch> take_branches() {
    for (const Cell maximum : maxima_)
      if (up(maximum) == maximum) ended_.push_back({.maximum = maximum, .birth = value(maximum)});
    std::sort(ended_.begin(), ended_.end(), [](const Branch& a, const Branch& b) {
      return a.birth != b.birth ? a.birth > b.birth : a.maximum < b.maximum;
    });
    return std::move(ended_);
  }

 private:
  Cell& up(Cell cell) { return up_[static_cast<std::size_t>(cell)]; }
  double value(Cell cell) const { return values_[static_cast<std::size_t>(cell)]; }
  Cell find(Cell cell) {
    while (up(cell) != cell) cell = up(cell) = up(up(cell));
    return cell;
  }

  std::span<const double> values_;
  const Neighbors& neighbors_;
  std::vector<Cell> up_;  // -1: not passed yet
  std::array<Cell, 26> roots_{};
  int count_ = 0;
  std::vector<Cell> maxima_;
  std::vector<Branch> ended_;
};

/// The branches of `values` on a grid of `cells` (z, y, x order), by descending maximum.
inline std::vector<Branch> branches(std::span<const double> values, mesh::Int3 cells, mesh::Periodicity periodic,
                                    Connectivity connectivity,
                                    double cut_off = -std::numeric_limits<double>::infinity()) {
  const Neighbors neighbors(cells, periodic, connectivity);
  Sweep sweep(values, neighbors);
  for (const Vertex& vertex : sorted_vertices(values, cut_off)) sweep.pass(vertex);
  return sweep.take_branches();
}

}  // namespace sidestream::test::vertex_sweep
