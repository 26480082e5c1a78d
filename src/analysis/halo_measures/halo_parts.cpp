#include "analysis/halo_measures/halo_parts.hpp"

#include <algorithm>
#include <cmath>
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
    return &field[static_cast<std::size_t>(level_)].view(block)(z, y, 0);
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

constexpr std::size_t sum_count = 22;

// All sums of a part, in one order.
template <typename Part>
auto sums_of(Part& part) {
  std::array<decltype(&part.particle_mass), sum_count> sums{};
  auto next = sums.begin();
  const auto take = [&](auto&... of_part) { ((*next++ = &of_part), ...); };
  const auto take_all = [&](auto& of_part) {
    for (auto& sum : of_part) take(sum);
  };
  take(part.particle_mass, part.matter.mass, part.motion.mass, part.motion.square);
  take_all(part.matter.moment);
  take_all(part.matter.second);
  take_all(part.motion.moment);
  take_all(part.motion.momentum);
  take_all(part.motion.angular_momentum);
  return sums;
}

// A portion of one of the sums of a part.
struct PartPortion {
  std::int32_t part = 0, sum = 0;
  core::SumPortion portion;
};

void append_portions(std::int32_t number, const HaloPart& part, std::vector<PartPortion>& portions) {
  const auto sums = sums_of(part);
  for (std::size_t s = 0; s < sum_count; ++s)
    sums[s]->for_each_portion([&](const core::SumPortion& portion) {
      portions.push_back({number, static_cast<std::int32_t>(s), portion});
    });
}

// What this rank has of each halo. Throws core::Error on all ranks for moving matter that is not finite.
std::vector<HaloPart> own_parts(const comm::Communicator& comm, const HaloContent& content) {
  std::vector<HaloPart> parts;
  parts.reserve(static_cast<std::size_t>(content.runs.size()));
  for (std::int32_t halo = 0; halo < content.runs.size(); ++halo) parts.emplace_back(content.runs.peak(halo));
  const bool cells_move = !content.measures.moving_density.empty();
  std::string problem;
  for_each_cell(content, [&](const HaloCell& cell) {
    HaloPart& part = parts[static_cast<std::size_t>(cell.halo)];
    part.extent.add_box(content.frame.volume(cell.level), cell.low, cell.high);
    part.matter.add(cell.matter);
    if (!cells_move) return;
    if (problem.empty() && !is_finite(cell.moving)) problem = problem_at(cell);
    part.motion.add(cell.moving);
  });
  comm.agree(problem);
  for (const HaloParticle& particle : content.particles) {
    HaloPart& part = parts[static_cast<std::size_t>(particle.halo)];
    ++part.extent.particles;
    part.particle_mass.add(particle.matter.mass);
    if (content.particles_move) part.motion.add(particle.matter);
  }
  return parts;
}

}  // namespace

void HaloExtent::add_box(std::int64_t its_volume, const Int3& its_low, const Int3& its_high) {
  ++cells;
  volume += its_volume;
  for (int axis = 0; axis < 3; ++axis) {
    middle[static_cast<std::size_t>(axis)] += core::Int128{its_volume} * (its_low[axis] + std::int64_t{its_high[axis]});
    low[axis] = std::min(low[axis], its_low[axis]);
    high[axis] = std::max(high[axis], its_high[axis]);
  }
}

void HaloExtent::add(const HaloExtent& other) {
  cells += other.cells;
  volume += other.volume;
  for (int axis = 0; axis < 3; ++axis) {
    middle[static_cast<std::size_t>(axis)] += other.middle[static_cast<std::size_t>(axis)];
    low[axis] = std::min(low[axis], other.low[axis]);
    high[axis] = std::max(high[axis], other.high[axis]);
  }
  particles += other.particles;
}

HaloPart::HaloPart(const HaloPeak& peak) {
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  extent.peak = peak;
  extent.low = {most, most, most};
  extent.high = {-most, -most, -most};
}

void HaloPart::add(const HaloPart& other) {
  extent.add(other.extent);
  const auto to = sums_of(*this);
  const auto from = sums_of(other);
  for (std::size_t s = 0; s < sum_count; ++s) to[s]->add(*from[s]);
}

std::vector<std::vector<HaloPart>> exchange_parts(const comm::Communicator& comm,
                                                  const std::vector<std::vector<const HaloPart*>>& outgoing) {
  std::vector<std::vector<HaloExtent>> extents(outgoing.size());
  std::vector<std::vector<PartPortion>> portions(outgoing.size());
  for (std::size_t rank = 0; rank < outgoing.size(); ++rank)
    for (const HaloPart* part : outgoing[rank]) {
      append_portions(static_cast<std::int32_t>(extents[rank].size()), *part, portions[rank]);
      extents[rank].push_back(part->extent);
    }
  std::vector<std::vector<HaloPart>> incoming(outgoing.size());
  const auto received = comm.exchange(extents);
  for (std::size_t rank = 0; rank < incoming.size(); ++rank)
    for (const HaloExtent& extent : received[rank]) incoming[rank].emplace_back().extent = extent;
  const auto of_sums = comm.exchange(portions);
  for (std::size_t rank = 0; rank < incoming.size(); ++rank)
    for (const PartPortion& portion : of_sums[rank])
      sums_of(incoming[rank][static_cast<std::size_t>(portion.part)])[static_cast<std::size_t>(portion.sum)]->add(
          portion.portion);
  return incoming;
}

std::vector<HaloPart> halo_parts(const comm::Communicator& comm, const HaloContent& content) {
  const std::vector<HaloPart> own = own_parts(comm, content);
  std::vector<std::vector<const HaloPart*>> outgoing(static_cast<std::size_t>(comm.size()));
  std::vector<const HaloPart*> all;
  for (const HaloPart& part : own) {
    const int owner = part.extent.peak.rank;
    (owner == comm.rank() ? all : outgoing[static_cast<std::size_t>(owner)]).push_back(&part);
  }
  const auto incoming = exchange_parts(comm, outgoing);
  for (const auto& of_rank : incoming)
    for (const HaloPart& part : of_rank) all.push_back(&part);
  std::sort(all.begin(), all.end(),
            [](const HaloPart* a, const HaloPart* b) { return a->extent.peak.cell < b->extent.peak.cell; });
  std::vector<HaloPart> whole;
  for (const HaloPart* part : all) {
    if (whole.empty() || whole.back().extent.peak.cell != part->extent.peak.cell) whole.emplace_back(part->extent.peak);
    whole.back().add(*part);
  }
  return whole;
}

}  // namespace sidestream::analysis
