#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "sidestream/amr/level_transfer.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "sidestream/solvers/refined_gravity.hpp"

namespace sidestream::test {

/// A box of side 1 with `cells`^3 root cells in blocks of `block`^3. `regions[l]`, in cells of level l and a multiple
/// of blocks, is refined to level l + 1.
struct RefinedBox {
  std::int32_t cells = 16, block = 4;
  bool is_periodic = true;
  std::vector<mesh::Box> regions;

  double cell_size(int level) const { return 1.0 / (cells << level); }

  mesh::Hierarchy hierarchy(int ranks) const {
    const mesh::Periodicity periodic{is_periodic, is_periodic, is_periodic};
    std::vector<mesh::BlockKey> refined;
    for (int level = 0; level < static_cast<int>(regions.size()); ++level) {
      mesh::Box blocks = regions[static_cast<std::size_t>(level)];
      for (int axis = 0; axis < 3; ++axis) {
        blocks.lo[axis] /= block;
        blocks.hi[axis] /= block;
      }
      core::for_each_cell(blocks, [&](int k, int j, int i) { refined.push_back({level, {i, j, k}}); });
    }
    const mesh::Int3 n{cells, cells, cells};
    return {mesh::Forest(n, block, periodic, refined), {mesh::domain_of(n), {1.0, 1.0, 1.0}, periodic}, ranks};
  }
};

/// The box [lo, hi)^3.
inline mesh::Box cube(std::int32_t lo, std::int32_t hi) {
  return {{lo, lo, lo}, {hi, hi, hi}};
}

/// Gravity on a refined box with its fields, one a level.
struct RefinedSolution {
  comm::Communicator comm;
  mesh::Hierarchy hierarchy;
  solvers::RefinedGravity gravity;
  std::vector<mesh::Field<double>> density, acceleration;

  RefinedSolution(MPI_Comm ranks, const RefinedBox& box, const solvers::RefinedGravityConfig& config = {})
      : comm(ranks), hierarchy(box.hierarchy(comm.size())), gravity(comm, hierarchy, config) {
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      density.emplace_back(hierarchy.layout(level), comm.rank());
      acceleration.emplace_back(hierarchy.layout(level), comm.rank(), 3, 2);
    }
  }

  /// Calls f(level, block, k, j, i) for each cell of this rank that is a leaf.
  template <typename F>
  void for_each_leaf_cell(F f) const {
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      const auto& field = density[static_cast<std::size_t>(level)];
      const auto own = hierarchy.layout(level).boxes_of(comm.rank());
      for (int b = 0; b < field.blocks(); ++b)
        if (hierarchy.is_leaf(level, own[static_cast<std::size_t>(b)]))
          core::for_each_cell(field.box(b), [&](int k, int j, int i) { f(level, b, k, j, i); });
    }
  }

  /// Sets leaf cells to value(level, cell) and the others to the averages of their children.
  template <typename F>
  void fill(F value) {
    for_each_leaf_cell([&](int level, int b, int k, int j, int i) {
      density[static_cast<std::size_t>(level)].view(b)(k, j, i) = value(level, mesh::Int3{i, j, k});
    });
    average_down();
  }
  void average_down() {
    for (auto level = static_cast<std::size_t>(hierarchy.finest_level()); level > 0; --level)
      amr::LevelTransfer(comm, hierarchy, static_cast<int>(level) - 1, 1)
          .average_down(density[level], density[level - 1]);
  }

  solvers::GravitySolve solve() {
    const solvers::GravitySolve done = gravity.solve(density);
    for (int level = 0; level <= hierarchy.finest_level(); ++level) {
      const mesh::Field<double>* coarser = level > 0 ? &acceleration[static_cast<std::size_t>(level) - 1] : nullptr;
      gravity.acceleration(level, acceleration[static_cast<std::size_t>(level)], coarser, coarser);
    }
    return done;
  }

  double phi(int level, int b, int k, int j, int i) const { return gravity.potential(level).view(b)(k, j, i); }
  double g(int axis, int level, int b, int k, int j, int i) const {
    return acceleration[static_cast<std::size_t>(level)].view(b)(axis, k, j, i);
  }
};

}  // namespace sidestream::test
