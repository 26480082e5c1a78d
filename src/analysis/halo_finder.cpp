#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "analysis/components.hpp"
#include "analysis/fixed_point.hpp"
#include "analysis/levels.hpp"
#include "sidestream/analysis/halos.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;

// The cells of one level of a halo that one rank holds. Everything in it is an integer, so that parts add up in any
// order. Offsets are counted in cells of the level from its cell at the lowest corner of the peak.
struct Part {
  Int128 mass = 0;                       // sum of the densities
  std::array<Int128, 3> moment{};        // sum of density times offset, along x, y, z
  std::array<std::int64_t, 3> offset{};  // sum of the offsets
  Int3 low, high;                        // smallest and largest offset
  std::int32_t level = 0;
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

// Adds up the runs of one level of one rank into the parts of halos.
class PartSummer {
 public:
  PartSummer(const LeafField& field, int level, const Components& components, double t_halo, FixedPoint fixed)
      : field_(*field[static_cast<std::size_t>(level)]),
        level_(level),
        finest_(field.back()->layout().domain()),
        bits_(bits_between(finest_, finest_level(field) - level)),
        components_(components),
        t_halo_(t_halo),
        offsets_(field_.layout()),
        fixed_(fixed),
        slot_(static_cast<std::size_t>(components.size()), unseen) {
    components.for_each_run(level, [this](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
      add(block, z, y, run, component);
    });
  }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  static constexpr std::int32_t unseen = -2, none = -1;

  // The slot of a component that was not seen before.
  std::int32_t open(std::int32_t component) {
    const Peak& peak = components_.peak(component);
    if (!(peak.height >= t_halo_)) return none;
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    parts_.push_back({0, {}, {}, {most, most, most}, {-most, -most, -most}, level_, 0, peak});
    peak_cell_.push_back(coarsened(cell_at(finest_, peak.cell), bits_));
    return static_cast<std::int32_t>(parts_.size()) - 1;
  }

  void add(int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
    std::int32_t& slot = slot_[static_cast<std::size_t>(component)];
    if (slot == unseen) slot = open(component);
    if (slot == none) return;
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

  const mesh::Field<double>& field_;
  std::int32_t level_;
  mesh::Box finest_;
  Int3 bits_;
  const Components& components_;
  double t_halo_;
  Offsets offsets_;
  FixedPoint fixed_;
  std::vector<std::int32_t> slot_;  // of each component of this rank in `parts_`
  std::vector<Part> parts_;
  std::vector<Int3> peak_cell_;
};

// Joins the parts of each halo, of one level each, on the rank that owns its peak: by peak, then by level.
std::vector<Part> join_parts(const comm::Communicator& comm, const std::vector<std::vector<Part>>& outgoing) {
  std::vector<Part> all;
  for (const auto& of_rank : comm.exchange(outgoing)) all.insert(all.end(), of_rank.begin(), of_rank.end());

  const auto key = [](const Part& part) { return std::pair(part.peak.cell, part.level); };
  std::sort(all.begin(), all.end(), [key](const Part& a, const Part& b) { return key(a) < key(b); });
  std::vector<Part> whole;
  for (const Part& part : all) {
    if (!whole.empty() && key(whole.back()) == key(part))
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

// Makes halos of their parts. Lengths along an axis are in cells of level 0 until the end; sums over levels are taken
// in the order of levels.
class HaloMaker {
 public:
  HaloMaker(const LeafField& field, const mesh::Geometry& geometry, FixedPoint fixed)
      : field_(field), geometry_(geometry), fixed_(fixed), domain_(root_domain(field)) {}

  Halo halo_of(std::span<const Part> parts) const {
    const Peak& peak = parts.front().peak;
    const Int3 corner = cell_at(field_.back()->layout().domain(), peak.cell);
    Halo halo;
    halo.id = peak.cell;
    halo.peak = peak.height;
    for (const Part& part : parts) halo.cells += part.cells;
    halo.mass = mass_of(parts) * geometry_.cell_volume();
    const int peak_level = level_of(corner);
    for (int axis = 0; axis < 3; ++axis) place(halo, parts, axis, corner, peak_level);
    return halo;
  }

 private:
  // The level of the leaf with this cell of the finest level.
  int level_of(Int3 finest_cell) const {
    int level = finest_level(field_);
    const auto has = [&](int l) {
      const Int3 bits = bits_between(domain_, finest_level(field_) - l);
      return field_[static_cast<std::size_t>(l)]->layout().find(coarsened(finest_cell, bits)) >= 0;
    };
    while (level > 0 && !has(level)) --level;
    return level;
  }

  // In densities times cells of level 0.
  double mass_of(std::span<const Part> parts) const {
    core::ExactSum mass;
    for (const Part& part : parts) fixed_.add(part.mass, -bits_a_level(domain_) * part.level, mass);
    return mass.value();
  }

  void place(Halo& halo, std::span<const Part> parts, int axis, Int3 corner, int peak_level) const {
    const auto a = static_cast<std::size_t>(axis);
    const auto cell_at = [&](int level) {
      return corner[axis] >> bits_between(domain_, finest_level(field_) - level)[axis];
    };
    const auto size_at = [&](int level) { return std::ldexp(1.0, -bits_between(domain_, level)[axis]); };
    const double start = (cell_at(peak_level) + 0.5) * size_at(peak_level);  // centre of the peak
    double volume = 0.0, offset = 0.0, mass = 0.0, moment = 0.0;
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const Part& part : parts) {
      const double cell_volume = std::ldexp(1.0, -bits_a_level(domain_) * part.level), size = size_at(part.level);
      const double reference = (cell_at(part.level) + 0.5) * size - start;  // where offsets of this level are zero
      const auto cells = static_cast<double>(part.cells);
      volume += cell_volume * cells;
      offset += cell_volume * (static_cast<double>(part.offset[a]) * size + cells * reference);
      mass += cell_volume * fixed_.value(part.mass);
      moment += cell_volume * (fixed_.value(part.moment[a]) * size + fixed_.value(part.mass) * reference);
      low = std::min(low, (cell_at(part.level) + part.low[axis]) * size);
      high = std::max(high, (cell_at(part.level) + part.high[axis] + 1) * size);
    }
    const bool is_periodic = field_.front()->layout().periodic()[a];
    const double side = geometry_.cell_size(axis), length = geometry_.length[a];
    const double mean_offset = offset / volume, center_offset = mass == 0 ? mean_offset : moment / mass;
    halo.peak_position[a] = start * side;
    halo.centroid[a] = wrapped_position((start + mean_offset) * side, length, is_periodic);
    halo.center[a] = wrapped_position((start + center_offset) * side, length, is_periodic);
    const std::int32_t n = domain_.extent()[axis];
    halo.spans_box = halo.spans_box || (is_periodic && n > 1 && 2 * (high - low) >= n);
  }

  const LeafField& field_;
  const mesh::Geometry& geometry_;
  FixedPoint fixed_;
  mesh::Box domain_;
};

// The largest magnitude among the cells at or above the threshold.
double largest_active(const comm::Communicator& comm, const Components& components, double threshold) {
  double largest = std::abs(threshold);
  for (std::int32_t c = 0; c < components.size(); ++c) largest = std::max(largest, std::abs(components.peak(c).height));
  return comm.max(largest);
}

// The tree of no more than the cells of halos.
TreeOptions tree_options(const HaloCriteria& criteria) {
  return {criteria.connectivity, Sets::above, criteria.t_boundary};
}

// The halos whose peaks this rank owns.
std::vector<Halo> own_halos(const std::vector<Part>& parts, const HaloMaker& maker, std::int64_t min_cells) {
  std::vector<Halo> halos;
  for (auto first = parts.begin(); first != parts.end();) {
    const auto last =
        std::find_if(first, parts.end(), [&](const Part& part) { return part.peak.cell != first->peak.cell; });
    const Halo halo = maker.halo_of(std::span(first, last));
    if (halo.cells >= min_cells) halos.push_back(halo);
    first = last;
  }
  return halos;
}

}  // namespace

std::vector<Halo> find_halos(const comm::Communicator& comm, const LeafField& field, const mesh::Geometry& geometry,
                             const HaloCriteria& criteria) {
  check(criteria);
  const MergeTree tree(comm, field, tree_options(criteria));
  const Components components(comm, tree, criteria.t_boundary);
  const FixedPoint fixed(largest_active(comm, components, criteria.t_boundary));
  std::vector<std::vector<Part>> outgoing(static_cast<std::size_t>(comm.size()));
  for (int level = 0; level <= finest_level(field); ++level) {
    const PartSummer summer(field, level, components, criteria.t_halo, fixed);
    for (const Part& part : summer.parts()) outgoing[static_cast<std::size_t>(part.peak.rank)].push_back(part);
  }
  const std::vector<Halo> mine =
      own_halos(join_parts(comm, outgoing), HaloMaker(field, geometry, fixed), criteria.min_cells);
  std::vector<Halo> halos = comm.gather(std::span<const Halo>(mine));
  std::sort(halos.begin(), halos.end(),
            [](const Halo& a, const Halo& b) { return a.mass != b.mass ? a.mass > b.mass : a.id < b.id; });
  return halos;
}

std::vector<Halo> find_halos(const comm::Communicator& comm, const mesh::Field<double>& field,
                             const mesh::Geometry& geometry, const HaloCriteria& criteria) {
  return find_halos(comm, uniform(field), geometry, criteria);
}

std::vector<mesh::Field<std::int64_t>> halo_membership(const comm::Communicator& comm, const LeafField& field,
                                                       const HaloCriteria& criteria) {
  check(criteria);
  const MergeTree tree(comm, field, tree_options(criteria));
  const Components components(comm, tree, criteria.t_boundary);
  std::vector<mesh::Field<std::int64_t>> levels;
  for (int level = 0; level <= finest_level(field); ++level) {
    const mesh::Field<double>& from = *field[static_cast<std::size_t>(level)];
    auto& ids = levels.emplace_back(from.layout(), from.rank());
    std::fill(ids.all().begin(), ids.all().end(), std::int64_t{-1});
    components.for_each_run(level, [&](int block, std::int32_t z, std::int32_t y, Run run, std::int32_t component) {
      const Peak& peak = components.peak(component);
      if (!(peak.height >= criteria.t_halo)) return;
      const auto view = ids.view(block);
      for (std::int32_t x = run.begin; x < run.end; ++x) view(z, y, x) = peak.cell;
    });
  }
  return levels;
}

}  // namespace sidestream::analysis
