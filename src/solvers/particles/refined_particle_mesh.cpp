#include "sidestream/solvers/refined_particle_mesh.hpp"

#include <algorithm>
#include <utility>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"

namespace sidestream::solvers {

namespace {

using core::View4;
using mesh::Box;
using mesh::Field;
using mesh::Int3;

// The mass of the eight children of a coarse cell.
std::int64_t children_of(View4<const std::int64_t> fine, int k, int j, int i) {
  std::int64_t sum = 0;
  for (int child = 0; child < 8; ++child) sum += fine(2 * k + child / 4, 2 * j + child / 2 % 2, 2 * i + child % 2);
  return sum;
}

// Splits the mass of a coarse cell among its children: equally, but for the last seven units.
void give_children(std::int64_t mass, View4<std::int64_t> fine, int k, int j, int i) {
  const std::int64_t share = mass / 8, left = mass % 8;
  for (int child = 0; child < 8; ++child)
    fine(2 * k + child / 4, 2 * j + child / 2 % 2, 2 * i + child % 2) += share + (child < left ? 1 : 0);
}

// The layer of cells on the side `offset` of a box.
Box beside(const Box& box, Int3 offset) {
  Box layer = box;
  for (int axis = 0; axis < 3; ++axis) {
    if (offset[axis] == 0) continue;
    layer.lo[axis] = offset[axis] < 0 ? box.lo[axis] - 1 : box.hi[axis];
    layer.hi[axis] = layer.lo[axis] + 1;
  }
  return layer;
}

}  // namespace

RefinedParticleMesh::RefinedParticleMesh(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy,
                                         std::int64_t total_particles, const std::shared_ptr<core::Workroom>& room)
    : rank_(comm.rank()) {
  const bool is_refined = hierarchy.finest_level() > 0;
  core::require(!is_refined || hierarchy.forest().block() >= 4,
                "particles on a refined mesh take blocks of at least four cells a side");
  for (int level = 0; level <= hierarchy.finest_level(); ++level)
    levels_.emplace_back(comm, hierarchy.layout(level), hierarchy.geometry(level), total_particles, is_refined ? 1 : 0,
                         level == 0 ? room : nullptr);
  for (int level = 0; level < hierarchy.finest_level(); ++level)
    exchanges_.push_back(make_exchange(comm, hierarchy, level));
}

RefinedParticleMesh::Exchange RefinedParticleMesh::make_exchange(const comm::Communicator& comm,
                                                                 const mesh::Hierarchy& hierarchy, int coarse_level) {
  const mesh::Layout& coarse = hierarchy.layout(coarse_level);
  const mesh::Layout outlines = mesh::coarsened(hierarchy.layout(coarse_level + 1));
  using redistribute::Redistribution, redistribute::Strategy;
  Exchange exchange{outlines,
                    Redistribution(comm, coarse, outlines),
                    Redistribution(comm, outlines, coarse, Strategy::automatic, {.source_ghost = 1}),
                    {},
                    {}};
  const auto own = outlines.boxes_of(comm.rank());
  for (std::size_t b = 0; b < own.size(); ++b)
    core::for_each_cell(Box{{0, 0, 0}, {1, 1, 1}}.grown(1), [&](int z, int y, int x) {
      if (hierarchy.forest().neighbor(hierarchy.forest().key(coarse_level + 1, own[b]), {x, y, z}) == -1)
        exchange.beyond.push_back({static_cast<int>(b), beside(outlines.box(own[b]), {x, y, z})});
    });
  const auto coarse_own = coarse.boxes_of(comm.rank());
  for (std::size_t b = 0; b < coarse_own.size(); ++b)
    if (!hierarchy.is_leaf(coarse_level, coarse_own[b])) exchange.refined.push_back(static_cast<int>(b));
  return exchange;
}

// Coarse clouds leave mass on refined blocks only within four cells of their sides (`cloud_margin`, a step and the
// cloud itself), and there the children are leaves; so the levels below `from_level` - 1 give nothing to those from
// `from_level` on.
void RefinedParticleMesh::deposit(std::span<const mesh::Particles> levels, std::span<const double> ahead,
                                  std::span<Field<double>> density, int from_level) {
  core::require(levels.size() == levels_.size() && ahead.size() == levels_.size() && density.size() == levels_.size(),
                "a deposit takes particles, times and densities of all levels");
  const auto from = static_cast<std::size_t>(from_level), first = from > 0 ? from - 1 : 0;
  for (std::size_t l = first; l < levels_.size(); ++l) levels_[l].deposit_mass(levels[l], ahead[l]);
  for (std::size_t l = first; l < exchanges_.size(); ++l)
    hand_down(exchanges_[l], levels_[l].integer_mass(), levels_[l + 1].integer_mass());
  for (std::size_t l = exchanges_.size(); l-- > from;)
    hand_up(exchanges_[l], levels_[l + 1].integer_mass(), levels_[l].integer_mass());
  for (std::size_t l = from; l < levels_.size(); ++l) levels_[l].convert_to_density(levels[l].mass, density[l]);
}

// Gives the mass on refined cells to their children.
void RefinedParticleMesh::hand_down(const Exchange& exchange, Mass& coarse, Mass& fine) const {
  Mass outlines(exchange.outlines, rank_, 1, 0);
  exchange.down.apply(coarse, outlines);
  for (int b = 0; b < outlines.blocks(); ++b) {
    const View4<const std::int64_t> given = std::as_const(outlines).view(b);
    const View4<std::int64_t> taken = fine.view(b);
    core::for_each_cell(outlines.box(b), [=](int k, int j, int i) {
      if (given(k, j, i) != 0) give_children(given(k, j, i), taken, k, j, i);
    });
  }
}

// Gives the mass that fine clouds left beyond the fine level to the coarse cells there, and the sum of all children to
// refined cells.
void RefinedParticleMesh::hand_up(const Exchange& exchange, const Mass& fine, Mass& coarse) const {
  Mass outlines(exchange.outlines, rank_, 1, 1);
  const auto sum_children = [&](int b, const Box& cells) {
    const View4<const std::int64_t> given = fine.view(b);
    const View4<std::int64_t> taken = outlines.view(b);
    core::for_each_cell(cells, [=](int k, int j, int i) { taken(k, j, i) = children_of(given, k, j, i); });
  };
  for (int b = 0; b < outlines.blocks(); ++b) sum_children(b, outlines.box(b));
  for (const auto& [block, cells] : exchange.beyond) sum_children(block, cells);
  for (const int b : exchange.refined) {
    const View4<std::int64_t> refined = coarse.view(b);
    core::for_each_cell(coarse.box(b), [=](int k, int j, int i) { refined(k, j, i) = 0; });
  }
  exchange.up.apply(outlines, coarse, redistribute::Combine::add);
}

}  // namespace sidestream::solvers
