#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/components.hpp"
#include "analysis/fixed_point.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// The part of a halo that one rank holds. Everything in it is an integer, so that parts add up in any order.
struct Part {
  Int128 mass = 0;
  std::array<Int128, 3> moment{};        // mass times offset from the peak, along x, y, z
  std::array<std::int64_t, 3> offset{};  // sum of the offsets from the peak
  Int3 low, high;                        // smallest and largest offset
  std::int64_t cells = 0;
  Peak peak;

  void add(const Part& other) {
    mass += other.mass;
    cells += other.cells;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      moment[a] += other.moment[a];
      offset[a] += other.offset[a];
      low[axis] = std::min(low[axis], other.low[axis]);
      high[axis] = std::max(high[axis], other.high[axis]);
    }
  }
};

void check(const HaloCriteria& criteria) {
  if (!(criteria.t_halo >= criteria.t_boundary))
    throw core::Error("t_halo (" + std::to_string(criteria.t_halo) + ") is below t_boundary (" +
                          std::to_string(criteria.t_boundary) + ")",
                      "", "the peak of a halo lies above its boundary: raise t_halo or lower t_boundary");
}

Int3 cell_of(const mesh::Box& domain, std::int64_t index) {
  const Int3 n = domain.extent();
  const std::int64_t row = index / n.x;
  return domain.lo + Int3{static_cast<std::int32_t>(index % n.x), static_cast<std::int32_t>(row % n.y),
                          static_cast<std::int32_t>(row / n.y)};
}

// Offsets between cells, on periodic axes to the nearest image, in [-n/2, n/2).
class Offsets {
 public:
  explicit Offsets(const mesh::Layout& layout) : n_(layout.domain().extent()), periodic_(layout.periodic()) {}

  std::int32_t along(int axis, std::int32_t from, std::int32_t to) const {
    const std::int32_t n = n_[axis], offset = to - from;
    if (!periodic_[static_cast<std::size_t>(axis)]) return offset;
    if (offset >= n - n / 2) return offset - n;
    return offset < -(n / 2) ? offset + n : offset;
  }

 private:
  Int3 n_;
  mesh::Periodicity periodic_;
};

// Adds up the runs of one rank into the parts of halos.
class PartSummer {
 public:
  PartSummer(const mesh::Field<double>& field, const Components& components, double t_halo, FixedPoint fixed)
      : field_(field), offsets_(field.layout()), fixed_(fixed), slot_(static_cast<std::size_t>(components.size()), -1) {
    for (std::int32_t c = 0; c < components.size(); ++c) {
      if (!(components.peak(c).value >= t_halo)) continue;
      slot_[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(parts_.size());
      constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
      parts_.push_back({0, {}, {}, {most, most, most}, {-most, -most, -most}, 0, components.peak(c)});
      peak_cell_.push_back(cell_of(field.layout().domain(), components.peak(c).cell));
    }
  }

  void add(int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
    const std::int32_t slot = slot_[static_cast<std::size_t>(component)];
    if (slot < 0) return;
    const Int3 peak = peak_cell_[static_cast<std::size_t>(slot)];
    Part row;  // what the run adds
    const std::int32_t dy = offsets_.along(1, peak.y, y), dz = offsets_.along(2, peak.z, z);
    row.low = {std::numeric_limits<std::int32_t>::max(), dy, dz};
    row.high = {std::numeric_limits<std::int32_t>::min(), dy, dz};
    row.cells = run.end - run.begin;
    const double* values = &field_.view(block)(z, y, 0);
    for (std::int32_t x = run.begin; x < run.end; ++x) {
      const std::int32_t dx = offsets_.along(0, peak.x, x);
      const Int128 mass = fixed_.of(values[x]);
      row.mass += mass;
      row.moment[0] += mass * dx;
      row.offset[0] += dx;
      row.low.x = std::min(row.low.x, dx);
      row.high.x = std::max(row.high.x, dx);
    }
    row.moment[1] = row.mass * dy;
    row.moment[2] = row.mass * dz;
    row.offset[1] = row.cells * dy;
    row.offset[2] = row.cells * dz;
    parts_[static_cast<std::size_t>(slot)].add(row);
  }

  std::vector<Part> take() { return std::move(parts_); }

 private:
  const mesh::Field<double>& field_;
  Offsets offsets_;
  FixedPoint fixed_;
  std::vector<std::int32_t> slot_;  // of each component of this rank in `parts_`, or -1
  std::vector<Part> parts_;
  std::vector<Int3> peak_cell_;
};

// Joins the parts of each halo on the rank that owns its peak.
std::vector<Part> join_parts(const comm::Communicator& comm, const std::vector<Part>& parts) {
  std::vector<std::vector<Part>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const Part& part : parts) outgoing[static_cast<std::size_t>(part.peak.rank)].push_back(part);
  std::vector<Part> all;
  for (const auto& of_rank : comm.exchange(outgoing)) all.insert(all.end(), of_rank.begin(), of_rank.end());

  std::sort(all.begin(), all.end(), [](const Part& a, const Part& b) { return a.peak.cell < b.peak.cell; });
  std::vector<Part> whole;
  for (const Part& part : all) {
    if (!whole.empty() && whole.back().peak == part.peak)
      whole.back().add(part);
    else
      whole.push_back(part);
  }
  return whole;
}

double wrapped_position(double position, double length, bool is_periodic) {
  if (!is_periodic) return position;
  position -= length * std::floor(position / length);
  return position < length ? position : 0.0;
}

Halo halo_of(const Part& part, const mesh::Layout& layout, const mesh::Geometry& geometry, const FixedPoint& fixed) {
  Halo halo;
  halo.id = part.peak.cell;
  halo.cells = part.cells;
  halo.mass = fixed.value(part.mass) * geometry.cell_volume();
  halo.peak = part.peak.value;
  const Int3 peak = cell_of(layout.domain(), part.peak.cell);
  for (int axis = 0; axis < 3; ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    const bool is_periodic = layout.periodic()[a];
    const double size = geometry.cell_size(axis), length = geometry.length[a];
    const double start = peak[axis] + 0.5;
    const double mean_offset = static_cast<double>(part.offset[a]) / static_cast<double>(part.cells);
    const double center_offset = part.mass == 0 ? mean_offset : fixed.value(part.moment[a]) / fixed.value(part.mass);
    halo.peak_position[a] = start * size;
    halo.centroid[a] = wrapped_position((start + mean_offset) * size, length, is_periodic);
    halo.center[a] = wrapped_position((start + center_offset) * size, length, is_periodic);
    const std::int32_t extent = part.high[axis] - part.low[axis] + 1, n = layout.domain().extent()[axis];
    halo.spans_box = halo.spans_box || (is_periodic && n > 1 && 2 * extent >= n);
  }
  return halo;
}

// The largest magnitude among the cells at or above the threshold.
double largest_active(const comm::Communicator& comm, const Components& components, double threshold) {
  double largest = std::abs(threshold);
  for (std::int32_t c = 0; c < components.size(); ++c) largest = std::max(largest, std::abs(components.peak(c).value));
  return comm.max(largest);
}

}  // namespace

std::vector<Halo> find_halos(const comm::Communicator& comm, const mesh::Field<double>& field,
                             const mesh::Geometry& geometry, const HaloCriteria& criteria) {
  check(criteria);
  const Components components(comm, field, criteria.t_boundary, criteria.connectivity);
  const FixedPoint fixed(largest_active(comm, components, criteria.t_boundary));
  PartSummer summer(field, components, criteria.t_halo, fixed);
  components.for_each_run([&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
    summer.add(block, z, y, run, component);
  });

  std::vector<Halo> mine;
  for (const Part& part : join_parts(comm, summer.take()))
    if (part.cells >= criteria.min_cells) mine.push_back(halo_of(part, field.layout(), geometry, fixed));
  std::vector<Halo> halos = comm.gather(std::span<const Halo>(mine));
  std::sort(halos.begin(), halos.end(),
            [](const Halo& a, const Halo& b) { return a.mass != b.mass ? a.mass > b.mass : a.id < b.id; });
  return halos;
}

mesh::Field<std::int64_t> halo_membership(const comm::Communicator& comm, const mesh::Field<double>& field,
                                          const HaloCriteria& criteria) {
  check(criteria);
  mesh::Field<std::int64_t> ids(field.layout(), field.rank());
  std::fill(ids.all().begin(), ids.all().end(), std::int64_t{-1});
  const Components components(comm, field, criteria.t_boundary, criteria.connectivity);
  components.for_each_run([&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
    const Peak& peak = components.peak(component);
    if (!(peak.value >= criteria.t_halo)) return;
    const auto view = ids.view(block);
    for (std::int32_t x = run.begin; x < run.end; ++x) view(z, y, x) = peak.cell;
  });
  return ids;
}

}  // namespace sidestream::analysis
