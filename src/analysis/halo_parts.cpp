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

// Calls `f` for each cell of a level that is in a halo.
template <typename F>
void for_each_cell_of_level(const HaloContent& content, int level, F f) {
  const auto l = static_cast<std::size_t>(level);
  const HaloFrame& frame = content.frame;
  const HaloMeasures& measures = content.measures;
  const Int3 bits = frame.bits(level), extent = refined(Int3{1, 1, 1}, bits);
  const double root_volume = frame.root_volume(level);
  const bool moves = !measures.moving_density.empty();
  HaloCell cell;
  cell.level = level;
  std::array<double, 3> size{};
  for (int axis = 0; axis < 3; ++axis) size[static_cast<std::size_t>(axis)] = frame.finest().cell_size(axis);
  for (int axis = 0; axis < 3; ++axis)
    cell.matter.size[static_cast<std::size_t>(axis)] = extent[axis] * size[static_cast<std::size_t>(axis)];
  const auto place = [&](int axis, std::int32_t index, std::int32_t corner) {
    cell.cell[axis] = index;
    cell.low[axis] = frame.offset(axis, level, corner, index);
    cell.high[axis] = cell.low[axis] + extent[axis];
    cell.matter.offset[static_cast<std::size_t>(axis)] =
        (cell.low[axis] + 0.5 * extent[axis]) * size[static_cast<std::size_t>(axis)];
  };
  content.runs.for_each(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t halo) {
    const Int3 corner = frame.cell_of(content.runs.peak(halo).cell);
    cell.halo = halo;
    place(2, z, corner.z);
    place(1, y, corner.y);
    const double* density = &frame.field()[l]->view(block)(z, y, 0);
    for (std::int32_t x = run.begin; x < run.end; ++x) {
      place(0, x, corner.x);
      cell.matter.mass = density[x] * root_volume;
      if (moves) {
        cell.moving.mass =
            measures.moving_density[l]->view(block)(z, y, x) * (root_volume * frame.root().cell_volume());
        cell.moving.offset = cell.matter.offset;
        for (std::size_t a = 0; a < 3; ++a) cell.moving.velocity[a] = measures.velocity[a][l]->view(block)(z, y, x);
      }
      f(std::as_const(cell));
    }
  });
}

template <typename F>
void for_each_cell(const HaloContent& content, F f) {
  for (int level = 0; level < content.frame.levels(); ++level) for_each_cell_of_level(content, level, f);
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
