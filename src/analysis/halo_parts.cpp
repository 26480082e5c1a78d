#include "analysis/halo_parts.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// A cell in a halo.
struct HaloCell {
  std::int32_t halo = 0;
  int level = 0;
  Int3 cell, low, high;  // in its level; its corners from that of the peak, in cells of the finest level
  Matter matter;         // of the field
  Matter moving;         // with velocities, if there is any
};

// Goes through the cells of one level that are in halos.
class LevelCells {
 public:
  LevelCells(const HaloContent& content, int level)
      : content_(content),
        level_(level),
        extent_(refined(Int3{1, 1, 1}, content.frame.bits(level))),
        root_volume_(content.frame.root_volume(level)),
        volume_(root_volume_ * content.frame.root().cell_volume()),
        moves_(!content.measures.moving_density.empty()) {
    cell_.level = level;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      size_[a] = content.frame.finest().cell_size(axis);
      cell_.matter.size[a] = extent_[axis] * size_[a];
    }
  }

  // Calls `f` for each.
  template <typename F>
  void for_each(F f) {
    content_.runs.for_each(level_, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t halo) {
      const Int3 corner = content_.frame.cell_of(content_.runs.peak(halo).cell);
      cell_.halo = halo;
      place(2, z, corner.z);
      place(1, y, corner.y);
      const double* density = row_of(content_.frame.field(), block, z, y);
      for (std::int32_t x = run.begin; x < run.end; ++x) {
        place(0, x, corner.x);
        cell_.matter.mass = density[x] * root_volume_;
        if (moves_) set_moving(block, z, y, x);
        f(std::as_const(cell_));
      }
    });
  }

 private:
  const double* row_of(const LeafField& field, int block, std::int32_t z, std::int32_t y) const {
    return &field[static_cast<std::size_t>(level_)]->view(block)(z, y, 0);
  }
  void place(int axis, std::int32_t index, std::int32_t corner) {
    const auto a = static_cast<std::size_t>(axis);
    cell_.cell[axis] = index;
    cell_.low[axis] = content_.frame.offset(axis, level_, corner, index);
    cell_.high[axis] = cell_.low[axis] + extent_[axis];
    cell_.matter.offset[a] = (cell_.low[axis] + 0.5 * extent_[axis]) * size_[a];
  }
  void set_moving(int block, std::int32_t z, std::int32_t y, std::int32_t x) {
    cell_.moving.mass = row_of(content_.measures.moving_density, block, z, y)[x] * volume_;
    cell_.moving.offset = cell_.matter.offset;
    for (std::size_t a = 0; a < 3; ++a)
      cell_.moving.velocity[a] = row_of(content_.measures.velocity[a], block, z, y)[x];
  }

  const HaloContent& content_;
  int level_;
  Int3 extent_;                  // in cells of the finest level
  double root_volume_, volume_;  // of a cell: in cells of level 0, and in the unit of the geometry
  bool moves_;
  std::array<double, 3> size_{};  // of a cell of the finest level
  HaloCell cell_;
};

template <typename F>
void for_each_cell(const HaloContent& content, F f) {
  for (int level = 0; level < content.frame.levels(); ++level) LevelCells(content, level).for_each(f);
}

bool is_finite(const Matter& matter) {
  return std::isfinite(matter.mass) && std::isfinite(matter.velocity[0]) && std::isfinite(matter.velocity[1]) &&
         std::isfinite(matter.velocity[2]);
}

std::string problem_at(const HaloCell& cell) {
  return "the moving matter of a halo has a density or a velocity that is not finite at the cell (z, y, x) = (" +
         std::to_string(cell.cell.z) + ", " + std::to_string(cell.cell.y) + ", " + std::to_string(cell.cell.x) +
         ") of level " + std::to_string(cell.level);
}

std::vector<HaloPart> empty_parts(const HaloRuns& runs) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  std::vector<HaloPart> parts(static_cast<std::size_t>(runs.size()));
  for (std::int32_t halo = 0; halo < runs.size(); ++halo) {
    HaloPart& part = parts[static_cast<std::size_t>(halo)];
    part.peak = runs.peak(halo);
    part.low = {most, most, most};
    part.high = {-most, -most, -most};
  }
  return parts;
}

void add(const HaloCell& cell, std::int64_t volume, const HaloUnits& units, bool moves, HaloPart& part) {
  ++part.cells;
  part.volume += volume;
  for (int axis = 0; axis < 3; ++axis) {
    part.middle[static_cast<std::size_t>(axis)] += Int128{volume} * (cell.low[axis] + std::int64_t{cell.high[axis]});
    part.low[axis] = std::min(part.low[axis], cell.low[axis]);
    part.high[axis] = std::max(part.high[axis], cell.high[axis]);
  }
  part.matter.add(cell.matter, units.matter);
  if (moves) part.motion.add(cell.moving, units.motion);
}

std::vector<HaloPart> own_parts(const HaloContent& content, const HaloUnits& units) {
  std::vector<HaloPart> parts = empty_parts(content.runs);
  const bool cells_move = !content.measures.moving_density.empty();
  for_each_cell(content, [&](const HaloCell& cell) {
    add(cell, content.frame.volume(cell.level), units, cells_move, parts[static_cast<std::size_t>(cell.halo)]);
  });
  for (const HaloParticle& particle : content.particles) {
    HaloPart& part = parts[static_cast<std::size_t>(particle.halo)];
    ++part.particles;
    part.particle_mass += units.motion.mass.of(particle.matter.mass);
    if (content.particles_move) part.motion.add(particle.matter, units.motion);
  }
  return parts;
}

}  // namespace

void HaloPart::add(const HaloPart& other) {
  cells += other.cells;
  volume += other.volume;
  for (int axis = 0; axis < 3; ++axis) {
    middle[static_cast<std::size_t>(axis)] += other.middle[static_cast<std::size_t>(axis)];
    low[axis] = std::min(low[axis], other.low[axis]);
    high[axis] = std::max(high[axis], other.high[axis]);
  }
  matter.add(other.matter);
  motion.add(other.motion);
  particles += other.particles;
  particle_mass += other.particle_mass;
}

HaloUnits units_of(const comm::Communicator& comm, const HaloContent& content) {
  MatterBounds of_field, of_motion;
  std::string problem;
  const bool cells_move = !content.measures.moving_density.empty();
  for_each_cell(content, [&](const HaloCell& cell) {
    of_field.include(cell.matter);
    if (!cells_move) return;
    if (problem.empty() && !is_finite(cell.moving)) problem = problem_at(cell);
    of_motion.include(cell.moving);
  });
  for (const HaloParticle& particle : content.particles) of_motion.include(particle.matter);
  comm.agree(problem);
  return {SumUnits(of_field.over_ranks(comm)), SumUnits(of_motion.over_ranks(comm))};
}

std::vector<HaloPart> halo_parts(const comm::Communicator& comm, const HaloContent& content, const HaloUnits& units) {
  std::vector<std::vector<HaloPart>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const HaloPart& part : own_parts(content, units))
    outgoing[static_cast<std::size_t>(part.peak.rank)].push_back(part);
  std::vector<HaloPart> all;
  for (const auto& of_rank : comm.exchange(outgoing)) all.insert(all.end(), of_rank.begin(), of_rank.end());
  std::sort(all.begin(), all.end(), [](const HaloPart& a, const HaloPart& b) { return a.peak.cell < b.peak.cell; });
  std::vector<HaloPart> whole;
  for (const HaloPart& part : all) {
    if (!whole.empty() && whole.back().peak.cell == part.peak.cell)
      whole.back().add(part);
    else
      whole.push_back(part);
  }
  return whole;
}

}  // namespace sidestream::analysis
