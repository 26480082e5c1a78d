#include "analysis/links/members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "analysis/fields/levels.hpp"
#include "analysis/links/ordered_rows.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Box;
using mesh::Int3;

constexpr const char* run_dimension = "member_run";
constexpr const char* particle_dimension = "member_particle";

constexpr std::int64_t no_halo = -1;

// Where and what to do, of members that cannot be.
constexpr const char* members_of_earlier = "members in a result of an earlier step";
constexpr const char* remove_or_leave = "remove that result, or do not link";

// The ids of the halos that this rank has cells of, `no_halo` for those that are not kept; the ranks of the peaks know.
std::vector<std::int64_t> kept_ids(const comm::Communicator& comm, const HaloRuns& runs,
                                   std::span<const std::int64_t> kept) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::vector<std::int64_t>> questions(ranks);
  for (std::int32_t halo = 0; halo < runs.size(); ++halo)
    questions[static_cast<std::size_t>(runs.peak(halo).rank)].push_back(runs.peak(halo).cell);
  std::vector<std::vector<std::int64_t>> answers(ranks);
  const auto asked = comm.exchange(questions);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const std::int64_t id : asked[rank])
      answers[rank].push_back(std::binary_search(kept.begin(), kept.end(), id) ? id : no_halo);
  const auto answered = comm.exchange(answers);
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> next(ranks, 0);
  for (std::int32_t halo = 0; halo < runs.size(); ++halo) {
    const auto rank = static_cast<std::size_t>(runs.peak(halo).rank);
    ids.push_back(answered[rank][next[rank]++]);
  }
  return ids;
}

const std::vector<std::int64_t>& integers_of(const mesh::Result& result, const std::string& name,
                                             const std::string& dimension) {
  const mesh::Column& column = result.column(name);
  const auto* values = std::get_if<std::vector<std::int64_t>>(&column.values);
  if (values == nullptr || column.dimensions != std::vector{dimension})
    throw core::Error(fmt::format("the column `{}` is not one of integers over `{}`", name, dimension),
                      members_of_earlier, remove_or_leave);
  return *values;
}

bool has_column(const mesh::Result& result, const std::string& name) {
  return std::any_of(result.columns.begin(), result.columns.end(),
                     [&](const mesh::Column& column) { return column.name == name; });
}

// Of the grid of a level.
std::int64_t row_length(const Box& root, std::int64_t level) {
  return std::int64_t{root.extent().x} << bits_between(root, static_cast<int>(level)).x;
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
  const std::int64_t row = row_length(root, run.level);
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

// Runs of one halo that lie side by side in a row, as blocks cut them, made one. The runs ascend.
std::vector<MemberRun> joined(const std::vector<MemberRun>& runs, const Box& root) {
  std::vector<MemberRun> joined;
  for (const MemberRun& run : runs) {
    if (!joined.empty()) {
      MemberRun& last = joined.back();
      const bool is_next = last.of == run.of && last.level == run.level && last.cell + last.cells == run.cell;
      if (is_next && run.cell % row_length(root, run.level) != 0) {
        last.cells += run.cells;
        continue;
      }
    }
    joined.push_back(run);
  }
  return joined;
}

void add_column(mesh::Result& result, const char* dimension, const std::string& name, const std::string& description,
                std::vector<std::int64_t> values) {
  const auto rows = static_cast<std::int64_t>(values.size());
  result.add(name, "1", description, {dimension}, {rows}, std::move(values));
  result.distributed.insert(dimension);
}

}  // namespace

Members members_of(const comm::Communicator& comm, const HaloRuns& runs, const HaloFrame& frame,
                   std::span<const std::int64_t> kept, std::span<const HaloParticle> particles) {
  const std::vector<std::int64_t> ids = kept_ids(comm, runs, kept);
  Members members;
  for (int level = 0; level < frame.levels(); ++level) {
    const Box& domain = frame.field()[static_cast<std::size_t>(level)].layout().domain();
    runs.for_each(level, [&](int, std::int32_t z, std::int32_t y, Run run, std::int32_t halo) {
      const std::int64_t id = ids[static_cast<std::size_t>(halo)];
      if (id != no_halo)
        members.runs.push_back({level, linear_index(domain, {run.begin, y, z}), run.end - run.begin, id});
    });
  }
  for (const HaloParticle& particle : particles) {
    const std::int64_t id = ids[static_cast<std::size_t>(particle.halo)];
    if (id != no_halo) members.particles.push_back({particle.id, id});
  }
  return members;
}

void add_runs(const comm::Communicator& comm, const std::string& noun, const Box& root,
              const std::vector<MemberRun>& members, mesh::Result& result) {
  using Key = std::array<std::int64_t, 3>;
  const auto border = [&](const MemberRun& run) {
    return Key{run.of, run.level, run.cell - run.cell % row_length(root, run.level)};
  };
  const std::vector<MemberRun> runs = joined(ordered_rows(
                                                 comm, members,
                                                 [](const MemberRun& run) {
                                                   return Key{run.of, run.level, run.cell};
                                                 },
                                                 border),
                                             root);
  const auto add = [&](const std::string& name, const std::string& description, auto value) {
    add_column(result, run_dimension, name, description, collected(std::span(runs), value));
  };
  add("member_run_level", "level of refinement of a run of cells along x in a " + noun,
      [](auto& r) { return r.level; });
  add("member_run_cell", "its first cell: linear index (z, y, x order) on the grid of its level",
      [](auto& r) { return r.cell; });
  add("member_run_cells", "number of its cells", [](auto& r) { return r.cells; });
  add("member_run_" + noun, "id of the " + noun + " that they are in", [](auto& r) { return r.of; });
}

void add_particles(const comm::Communicator& comm, const std::string& noun, const std::vector<MemberParticle>& members,
                   mesh::Result& result) {
  const auto key = [](const MemberParticle& member) { return std::array{member.of, member.particle}; };
  const std::vector<MemberParticle> particles = ordered_rows(comm, members, key, key);
  const auto add = [&](const std::string& name, const std::string& description, auto value) {
    add_column(result, particle_dimension, name, description, collected(std::span(particles), value));
  };
  add("member_particle_id", "id of a particle in a " + noun, [](auto& p) { return p.particle; });
  add("member_particle_" + noun, "id of the " + noun + " that it is in", [](auto& p) { return p.of; });
}

Members members_from(const mesh::Result& result, const std::string& noun, const Box& root) {
  Members members;
  if (has_column(result, "member_run_cell")) {
    const auto& level = integers_of(result, "member_run_level", run_dimension);
    const auto& cell = integers_of(result, "member_run_cell", run_dimension);
    const auto& cells = integers_of(result, "member_run_cells", run_dimension);
    const auto& of = integers_of(result, "member_run_" + noun, run_dimension);
    for (std::size_t r = 0; r < cell.size(); ++r) {
      members.runs.push_back({level[r], cell[r], cells[r], of[r]});
      const std::string fault = fault_of(members.runs.back(), root);
      if (!fault.empty())
        throw core::Error(
            fmt::format("a run of {} cells from cell {} of level {} {}", cells[r], cell[r], level[r], fault),
            members_of_earlier, remove_or_leave);
    }
  }
  if (has_column(result, "member_particle_id")) {
    const auto& id = integers_of(result, "member_particle_id", particle_dimension);
    const auto& of = integers_of(result, "member_particle_" + noun, particle_dimension);
    for (std::size_t p = 0; p < id.size(); ++p) members.particles.push_back({id[p], of[p]});
  }
  return members;
}

MemberCells::MemberCells(const ScalarView& field, int level, std::span<const MemberRun> runs)
    : field_(field), block_start_{0} {
  for (int b = 0; b < field.blocks(); ++b) {
    const Int3 n = field.box(b).extent();
    block_start_.push_back(block_start_.back() + static_cast<std::size_t>(n.z) * static_cast<std::size_t>(n.y));
  }
  std::vector<std::pair<std::size_t, Entry>> found;  // with their rows
  for (const MemberRun& run : runs) {
    if (run.level != level) continue;
    const Box cells = box_of(run, field.layout().domain());
    const int block = block_of(field.layout(), field.rank(), field.layout().find(cells.lo));
    found.push_back({row_index(block, cells.lo.z, cells.lo.y), {cells.lo.x, cells.hi.x, run.of}});
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

std::size_t MemberCells::row_index(int block, std::int32_t z, std::int32_t y) const {
  const Box& box = field_.box(block);
  return block_start_[static_cast<std::size_t>(block)] +
         static_cast<std::size_t>(z - box.lo.z) * static_cast<std::size_t>(box.extent().y) +
         static_cast<std::size_t>(y - box.lo.y);
}

std::span<const MemberCells::Entry> MemberCells::row_from(int block, std::int32_t z, std::int32_t y,
                                                          std::int32_t x) const {
  const std::size_t row = row_index(block, z, y);
  const auto begin = static_cast<std::size_t>(row_start_[row]), end = static_cast<std::size_t>(row_start_[row + 1]);
  const auto all = std::span(entries_).subspan(begin, end - begin);
  const auto first = std::partition_point(all.begin(), all.end(), [x](const Entry& entry) { return entry.end <= x; });
  return {first, all.end()};
}

int block_of(const mesh::Layout& layout, int rank, std::int32_t index) {
  const auto mine = layout.boxes_of(rank);
  return static_cast<int>(std::lower_bound(mine.begin(), mine.end(), index) - mine.begin());
}

Box box_of(const MemberRun& run, const Box& domain) {
  const Int3 cell = cell_at(domain, run.cell);
  return {cell, cell + Int3{static_cast<std::int32_t>(run.cells), 1, 1}};
}

}  // namespace sidestream::analysis
