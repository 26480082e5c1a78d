#include "analysis/halo_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "analysis/levels.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

constexpr const char* run_dimension = "member_run";
constexpr const char* particle_dimension = "member_particle";

// Finds the leaf that holds a position. Particles of a rank mostly come block by block, so the last leaf is tried
// first.
class LeafFinder {
 public:
  struct Leaf {
    int level = 0;
    std::int32_t box = -1;  // of the layout of the level; -1: none
    Int3 cell;
  };

  explicit LeafFinder(const mesh::Snapshot& snapshot) : snapshot_(snapshot) {
    for (int level = 0; level <= snapshot.finest_level(); ++level)
      geometries_.push_back(snapshot.geometry.refined(level));
  }

  Leaf at(const std::array<double, 3>& position) {
    if (last_.box >= 0) {
      last_.cell = cell_on(last_.level, position);
      if (layout(last_.level).box(last_.box).contains(last_.cell)) return last_;
    }
    for (int level = snapshot_.finest_level(); level >= 0; --level) {
      const Int3 cell = cell_on(level, position);
      const std::int32_t box = layout(level).find(cell);
      if (box >= 0) return last_ = {level, box, cell};
    }
    return {};
  }

 private:
  const mesh::Layout& layout(int level) const { return snapshot_.levels[static_cast<std::size_t>(level)]; }
  Int3 cell_on(int level, const std::array<double, 3>& position) const {
    return mesh::cell_of(geometries_[static_cast<std::size_t>(level)], position);
  }

  const mesh::Snapshot& snapshot_;
  std::vector<mesh::Geometry> geometries_;
  Leaf last_;
};

struct ParticleInCell {
  std::int64_t id = 0;
  std::int32_t level = 0, box = 0;
  Int3 cell;
  std::int32_t padding = 0;
};

// The particles in halos: those of this rank in its own cells, and those that other ranks have in them.
std::vector<MemberParticle> particles_in(const comm::Communicator& comm, std::span<const HaloCells> levels,
                                         const mesh::Snapshot& snapshot) {
  std::vector<MemberParticle> members;
  const auto add = [&](const ParticleInCell& particle) {
    const HaloCells& cells = levels[static_cast<std::size_t>(particle.level)];
    const int block = block_of(cells.field().layout(), comm.rank(), particle.box);
    const std::int64_t halo = cells.halo_at(block, particle.cell);
    if (halo != no_halo) members.push_back({particle.id, halo});
  };
  std::vector<std::vector<ParticleInCell>> outgoing(static_cast<std::size_t>(comm.size()));
  LeafFinder finder(snapshot);
  const std::size_t count = snapshot.particles == nullptr ? 0 : snapshot.particles->size();
  for (std::size_t p = 0; p < count; ++p) {
    const auto& position = snapshot.particles->position;
    const auto leaf = finder.at({position[0][p], position[1][p], position[2][p]});
    if (leaf.box < 0) continue;
    const std::int32_t owner = snapshot.levels[static_cast<std::size_t>(leaf.level)].owner(leaf.box);
    const ParticleInCell particle{snapshot.particles->id[p], leaf.level, leaf.box, leaf.cell, 0};
    if (owner == comm.rank())
      add(particle);
    else
      outgoing[static_cast<std::size_t>(owner)].push_back(particle);
  }
  for (const auto& of_rank : comm.exchange(outgoing)) std::for_each(of_rank.begin(), of_rank.end(), add);
  return members;
}

const std::vector<std::int64_t>& integers_of(const mesh::Result& result, const std::string& name,
                                             const std::string& dimension) {
  const mesh::Column& column = result.column(name);
  const auto* values = std::get_if<std::vector<std::int64_t>>(&column.values);
  if (values == nullptr || column.dimensions != std::vector{dimension})
    throw core::Error(fmt::format("the column `{}` is not one of integers over `{}`", name, dimension),
                      "members of halos of an earlier step", "remove that result, or do not link");
  return *values;
}

bool has_column(const mesh::Result& result, const std::string& name) {
  return std::any_of(result.columns.begin(), result.columns.end(),
                     [&](const mesh::Column& column) { return column.name == name; });
}

// What keeps the run from being a part of a row of its level's domain; empty if nothing does.
std::string fault_of(const MemberRun& run, const Box& root) {
  if (run.level < 0 || run.level > finest_possible_level) return "is on a level that cannot be";
  const Int3 bits = bits_between(root, static_cast<int>(run.level)), n = root.extent();
  std::int64_t volume = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const std::int64_t cells = std::int64_t{n[axis]} << bits[axis];
    if (cells > std::numeric_limits<std::int32_t>::max() ||
        volume > std::numeric_limits<std::int64_t>::max() / (4 * cells))
      return "is on a level of more cells than can be counted";
    volume *= cells;
  }
  const std::int64_t row = std::int64_t{n.x} << bits.x;
  if (run.cell < 0 || run.cell >= volume) return "begins outside of the domain";
  if (run.cells < 1 || run.cells > row - run.cell % row) return "has no cells, or leaves its row";
  return "";
}

template <typename T, typename F>
std::vector<std::int64_t> collected(std::span<const T> items, F value) {
  std::vector<std::int64_t> values;
  values.reserve(items.size());
  for (const T& item : items) values.push_back(value(item));
  return values;
}

void add_column(mesh::Result& result, const char* dimension, const char* name, const char* description,
                std::vector<std::int64_t> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  result.add(name, "1", description, {dimension}, {rows}, std::move(values));
  result.distributed.insert(dimension);
}

}  // namespace

std::vector<std::int64_t> halos_of_parts(const comm::Communicator& comm, const Components& components,
                                         std::span<const std::int64_t> kept) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto is_kept = [&](std::int64_t id) { return std::binary_search(kept.begin(), kept.end(), id); };
  std::vector<std::int64_t> halos(static_cast<std::size_t>(components.size()), no_halo);
  std::vector<std::vector<std::int64_t>> questions(ranks);
  for (std::int32_t c = 0; c < components.size(); ++c) {
    const Peak& peak = components.peak(c);
    if (peak.rank != comm.rank())
      questions[static_cast<std::size_t>(peak.rank)].push_back(peak.cell);
    else if (is_kept(peak.cell))
      halos[static_cast<std::size_t>(c)] = peak.cell;
  }
  std::vector<std::vector<std::uint8_t>> answers(ranks);
  const auto asked = comm.exchange(questions);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const std::int64_t id : asked[rank]) answers[rank].push_back(is_kept(id) ? 1 : 0);
  const auto answered = comm.exchange(answers);
  std::vector<std::size_t> next(ranks, 0);
  for (std::int32_t c = 0; c < components.size(); ++c) {
    const Peak& peak = components.peak(c);
    const auto rank = static_cast<std::size_t>(peak.rank);
    if (peak.rank != comm.rank() && answered[rank][next[rank]++] != 0) halos[static_cast<std::size_t>(c)] = peak.cell;
  }
  return halos;
}

HaloMembers members_of(const comm::Communicator& comm, const Components& components, const LeafField& field,
                       std::span<const std::int64_t> halo_of_part, const mesh::Snapshot& snapshot) {
  HaloMembers members;
  std::vector<HaloCells> levels;
  for (int level = 0; level <= finest_level(field); ++level) {
    const mesh::Field<double>& here = *field[static_cast<std::size_t>(level)];
    const Box& domain = here.layout().domain();
    components.for_each_run(level, [&](int, std::int32_t z, std::int32_t y, Run run, std::int32_t part) {
      const std::int64_t halo = halo_of_part[static_cast<std::size_t>(part)];
      if (halo != no_halo)
        members.runs.push_back({level, linear_index(domain, {run.begin, y, z}), run.end - run.begin, halo});
    });
    levels.emplace_back(here, level, members.runs);
  }
  members.particles = particles_in(comm, levels, snapshot);
  return members;
}

void add_runs(mesh::Result& result, std::span<const MemberRun> runs) {
  const auto add = [&](const char* name, const char* description, auto value) {
    add_column(result, run_dimension, name, description, collected(runs, value));
  };
  add("member_run_level", "level of refinement of a run of cells along x in a halo", [](auto& r) { return r.level; });
  add("member_run_cell", "its first cell: linear index (z, y, x order) on the grid of its level",
      [](auto& r) { return r.cell; });
  add("member_run_cells", "number of its cells", [](auto& r) { return r.cells; });
  add("member_run_halo", "id of the halo that they are in", [](auto& r) { return r.halo; });
}

void add_particles(mesh::Result& result, std::span<const MemberParticle> particles) {
  const auto add = [&](const char* name, const char* description, auto value) {
    add_column(result, particle_dimension, name, description, collected(particles, value));
  };
  add("member_particle_id", "id of a particle in a halo", [](auto& p) { return p.particle; });
  add("member_particle_halo", "id of the halo that it is in", [](auto& p) { return p.halo; });
}

HaloMembers members_from(const mesh::Result& result, const Box& root) {
  HaloMembers members;
  if (has_column(result, "member_run_cell")) {
    const auto& level = integers_of(result, "member_run_level", run_dimension);
    const auto& cell = integers_of(result, "member_run_cell", run_dimension);
    const auto& cells = integers_of(result, "member_run_cells", run_dimension);
    const auto& halo = integers_of(result, "member_run_halo", run_dimension);
    for (std::size_t r = 0; r < cell.size(); ++r) {
      members.runs.push_back({level[r], cell[r], cells[r], halo[r]});
      const std::string fault = fault_of(members.runs.back(), root);
      if (!fault.empty())
        throw core::Error(
            fmt::format("a run of {} cells from cell {} of level {} {}", cells[r], cell[r], level[r], fault),
            "members of halos of an earlier step", "remove that result, or do not link");
    }
  }
  if (has_column(result, "member_particle_id")) {
    const auto& id = integers_of(result, "member_particle_id", particle_dimension);
    const auto& halo = integers_of(result, "member_particle_halo", particle_dimension);
    for (std::size_t p = 0; p < id.size(); ++p) members.particles.push_back({id[p], halo[p]});
  }
  return members;
}

HaloCells::HaloCells(const mesh::Field<double>& field, int level, std::span<const MemberRun> runs)
    : field_(&field), block_start_{0} {
  for (int b = 0; b < field.blocks(); ++b) {
    const Int3 n = field.box(b).extent();
    block_start_.push_back(block_start_.back() + static_cast<std::size_t>(n.z) * static_cast<std::size_t>(n.y));
  }
  std::vector<std::pair<std::size_t, Entry>> found;  // with their rows
  for (const MemberRun& run : runs) {
    if (run.level != level) continue;
    const Box cells = box_of(run, field.layout().domain());
    const int block = block_of(field.layout(), field.rank(), field.layout().find(cells.lo));
    found.push_back({row_index(block, cells.lo.z, cells.lo.y), {cells.lo.x, cells.hi.x, run.halo}});
  }
  const auto key = [](const auto& item) { return std::pair(item.first, item.second.begin); };
  std::sort(found.begin(), found.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  row_start_.assign(block_start_.back() + 1, 0);
  for (const auto& [row, entry] : found) {
    ++row_start_[row + 1];
    entries_.push_back(entry);
  }
  std::partial_sum(row_start_.begin(), row_start_.end(), row_start_.begin());
}

std::size_t HaloCells::row_index(int block, std::int32_t z, std::int32_t y) const {
  const Box& box = field_->box(block);
  return block_start_[static_cast<std::size_t>(block)] +
         static_cast<std::size_t>(z - box.lo.z) * static_cast<std::size_t>(box.extent().y) +
         static_cast<std::size_t>(y - box.lo.y);
}

std::span<const HaloCells::Entry> HaloCells::row_from(int block, std::int32_t z, std::int32_t y, std::int32_t x) const {
  const std::size_t row = row_index(block, z, y);
  const auto begin = static_cast<std::size_t>(row_start_[row]), end = static_cast<std::size_t>(row_start_[row + 1]);
  const auto all = std::span(entries_).subspan(begin, end - begin);
  const auto first = std::partition_point(all.begin(), all.end(), [x](const Entry& entry) { return entry.end <= x; });
  return {first, all.end()};
}

std::int64_t HaloCells::halo_at(int block, Int3 cell) const {
  const auto entries = row_from(block, cell.z, cell.y, cell.x);
  return !entries.empty() && entries.front().begin <= cell.x ? entries.front().halo : no_halo;
}

int block_of(const mesh::Layout& layout, int rank, std::int32_t index) {
  const auto mine = layout.boxes_of(rank);
  return static_cast<int>(std::lower_bound(mine.begin(), mine.end(), index) - mine.begin());
}

Box box_of(const MemberRun& run, const Box& domain) {
  const Int3 n = domain.extent();
  const std::int64_t row = run.cell / n.x;
  const Int3 cell = domain.lo + Int3{static_cast<std::int32_t>(run.cell % n.x), static_cast<std::int32_t>(row % n.y),
                                     static_cast<std::int32_t>(row / n.y)};
  return {cell, cell + Int3{static_cast<std::int32_t>(run.cells), 1, 1}};
}

}  // namespace sidestream::analysis
