#include "sidestream/redistribute/migration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::redistribute {

namespace {

using mesh::Geometry;
using mesh::Int3;
using mesh::Layout;
using mesh::Particles;

struct Leaver {
  std::size_t index;
  int to, level;  // the rank and the level it goes to
};

[[noreturn]] void reject(const Particles& particles, std::size_t p, const char* what) {
  throw core::Error(fmt::format("particle {} at ({}, {}, {}) {}", particles.id[p], particles.position[0][p],
                                particles.position[1][p], particles.position[2][p], what),
                    "", "look at the time step and at the forces");
}

constexpr std::size_t batch_size = 64;
using CellsOnAxis = std::array<std::int32_t, batch_size>;

// The cells along an axis of some coordinates; whether all lie inside the domain. Else the cells mean nothing.
bool locate_on_axis(const Geometry& geometry, int axis, std::span<const double> x, CellsOnAxis& cells) {
  const double length = geometry.length[static_cast<std::size_t>(axis)];
  int outside = 0;
  for (std::size_t n = 0; n < x.size(); ++n) outside |= static_cast<int>(!(x[n] >= 0.0 && x[n] < length));
  for (std::size_t n = 0; n < x.size() && outside == 0; ++n) cells[n] = cell_of(geometry, axis, x[n]);
  return outside == 0;
}

void wrap(const Geometry& geometry, Particles& particles, std::size_t p) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double& x = particles.position[axis][p];
    const double inside = geometry.periodic[axis] ? mesh::wrapped_coordinate(x, geometry.length[axis]) : x;
    if (!(inside >= 0.0 && inside < geometry.length[axis])) reject(particles, p, "is outside of the domain");
    x = inside;
  }
}

// Wraps all positions into the domain and calls f(p, cell) for each particle and its cell.
template <typename F>
void for_each_wrapped(const Geometry geometry, Particles& particles, F f) {
  std::array<CellsOnAxis, 3> cells;
  for (std::size_t first = 0; first < particles.size(); first += batch_size) {
    const std::size_t count = std::min(batch_size, particles.size() - first);
    const auto locate = [&] {
      bool is_inside = true;
      for (std::size_t axis = 0; axis < 3; ++axis)
        is_inside &= locate_on_axis(geometry, static_cast<int>(axis),
                                    std::span(particles.position[axis]).subspan(first, count), cells[axis]);
      return is_inside;
    };
    if (!locate()) {
      for (std::size_t n = 0; n < count; ++n) wrap(geometry, particles, first + n);
      locate();
    }
    for (std::size_t n = 0; n < count; ++n) f(first + n, Int3{cells[0][n], cells[1][n], cells[2][n]});
  }
}

int keeper_of(const Layout& layout, const Particles& particles, std::size_t p, Int3 cell) {
  const Home home = home_of(layout, cell);
  if (home.box < 0) reject(particles, p, "is outside of all boxes");
  return layout.owner(home.box);
}

// Wraps all positions and finds the particles that another rank keeps, in the order of their index.
std::vector<Leaver> find_leavers(const Layout& layout, const Geometry& geometry, int rank, Particles& particles) {
  const OwnedCells own(layout, rank);
  std::vector<Leaver> leavers;
  for_each_wrapped(geometry, particles, [&](std::size_t p, Int3 cell) {
    if (own.block_of(cell) >= 0) return;
    const int to = keeper_of(layout, particles, p, cell);
    if (to != rank) leavers.push_back({p, to, 0});
  });
  return leavers;
}

// Whether the blocks of `level` hold all `cells`, which are in the block `index` or beside it.
bool holds(const mesh::Hierarchy& hierarchy, int level, std::int32_t index, const mesh::Box& cells) {
  const mesh::Box& box = hierarchy.layout(level).box(index);
  mesh::Box beside{{0, 0, 0}, {1, 1, 1}};
  for (int axis = 0; axis < 3; ++axis) {
    if (cells.lo[axis] < box.lo[axis]) beside.lo[axis] = -1;
    if (cells.hi[axis] > box.hi[axis]) beside.hi[axis] = 2;
  }
  const mesh::BlockKey key = hierarchy.forest().key(level, index);
  bool holds_all = true;
  core::for_each_cell(beside, [&](int z, int y, int x) {
    const Int3 offset{x, y, z};
    holds_all = holds_all && (offset == Int3{} || hierarchy.forest().neighbor(key, offset) != -1);
  });
  return holds_all;
}

// The finest level, not below `lowest`, that has room for a particle, and the rank that keeps it there.
Leaver destination_of(const mesh::Hierarchy& hierarchy, int lowest, std::int32_t margin, const Particles& particles,
                      std::size_t p) {
  const std::array position{particles.position[0][p], particles.position[1][p], particles.position[2][p]};
  for (int level = hierarchy.finest_level(); level > lowest; --level) {
    const Int3 cell = cell_of(hierarchy.geometry(level), position);
    const auto box = hierarchy.layout(level).find(cell);
    if (box >= 0 && holds(hierarchy, level, box, mesh::Box{cell, cell + Int3{1, 1, 1}}.grown(margin)))
      return {p, hierarchy.layout(level).owner(box), level};
  }
  return {p, keeper_of(hierarchy.layout(lowest), particles, p, cell_of(hierarchy.geometry(lowest), position)), lowest};
}

// Wraps all positions and finds the particles of `level` that belong to another level or rank.
std::vector<Leaver> find_leavers(const mesh::Hierarchy& hierarchy, int level, int lowest, std::int32_t margin, int rank,
                                 Particles& particles) {
  const Layout& layout = hierarchy.layout(level);
  const OwnedCells own(layout, rank);
  const auto blocks = layout.boxes_of(rank);
  std::vector<std::uint8_t> keeps_all;  // leaves with room for all that is in them
  for (const auto box : blocks)
    keeps_all.push_back(
        hierarchy.is_leaf(level, box) && holds(hierarchy, level, box, layout.box(box).grown(margin)) ? 1 : 0);
  std::vector<Leaver> leavers;
  for_each_wrapped(hierarchy.geometry(level), particles, [&](std::size_t p, Int3 cell) {
    const auto block = own.block_of(cell);
    if (block >= 0 && keeps_all[static_cast<std::size_t>(block)] != 0) return;
    const Leaver leaver = destination_of(hierarchy, lowest, margin, particles, p);
    if (leaver.to != rank || leaver.level != level) leavers.push_back(leaver);
  });
  return leavers;
}

// Particles as 64-bit words: id, position, attributes of each.
using Messages = comm::ByRank<std::uint64_t>;

std::size_t words_of(const Particles& particles) {
  return 4 + particles.attributes.size();
}

void append(const Particles& particles, std::size_t p, std::vector<std::uint64_t>& message) {
  message.push_back(std::bit_cast<std::uint64_t>(particles.id[p]));
  for (const auto& axis : particles.position) message.push_back(std::bit_cast<std::uint64_t>(axis[p]));
  for (const auto& attribute : particles.attributes)
    message.push_back(std::bit_cast<std::uint64_t>(attribute.values[p]));
}

void put(Particles& particles, std::size_t p, const std::uint64_t* words) {
  particles.id[p] = std::bit_cast<std::int64_t>(*words++);
  for (auto& axis : particles.position) axis[p] = std::bit_cast<double>(*words++);
  for (auto& attribute : particles.attributes) attribute.values[p] = std::bit_cast<double>(*words++);
}

template <typename T>
void move_element(std::vector<T>& values, std::size_t from, std::size_t to) {
  values[to] = values[from];
}

void move_particle(Particles& particles, std::size_t from, std::size_t to) {
  move_element(particles.id, from, to);
  for (auto& axis : particles.position) move_element(axis, from, to);
  for (auto& attribute : particles.attributes) move_element(attribute.values, from, to);
}

// Puts arrivals into the places of leavers; arrivals beyond those go to the end, places beyond those are filled from
// the end.
void replace_leavers(const std::vector<Leaver>& leavers, const Messages& incoming, Particles& particles) {
  const std::size_t words = words_of(particles), before = particles.size();
  std::size_t arrivals = 0, arrived = 0;
  for (const auto& [from, message] : incoming) arrivals += message.size() / words;
  if (arrivals > leavers.size()) particles.resize(before + arrivals - leavers.size());
  for (const auto& [from, message] : incoming)
    for (std::size_t w = 0; w < message.size(); w += words, ++arrived)
      put(particles, arrived < leavers.size() ? leavers[arrived].index : before + arrived - leavers.size(),
          &message[w]);
  if (arrivals >= leavers.size()) return;

  // Both lists of holes ascend: the last particle either is itself a hole or fills the first one.
  std::size_t first = arrivals, last = leavers.size(), size = before;
  while (first < last) {
    --size;
    if (leavers[last - 1].index == size)
      --last;
    else
      move_particle(particles, size, leavers[first++].index);
  }
  particles.resize(size);
}

// Takes the leavers of all levels from where they are, and returns for each level what came.
std::vector<Messages> exchange_levels(const comm::Communicator& comm, const std::vector<std::vector<Leaver>>& leavers,
                                      const std::vector<Particles>& levels) {
  Messages outgoing;
  for (std::size_t level = 0; level < levels.size(); ++level)
    for (const Leaver& leaver : leavers[level]) {
      auto& message = outgoing[leaver.to];
      message.push_back(static_cast<std::uint64_t>(leaver.level));
      append(levels[level], leaver.index, message);
    }
  const std::size_t words = words_of(levels.front());
  std::vector<Messages> incoming(levels.size());
  for (const auto& [from, message] : comm::deliver(comm, outgoing).incoming)
    for (auto word = message.begin(); word != message.end(); word += static_cast<std::ptrdiff_t>(words) + 1) {
      auto& particles = incoming[static_cast<std::size_t>(*word)][from];
      particles.insert(particles.end(), word + 1, word + 1 + static_cast<std::ptrdiff_t>(words));
    }
  return incoming;
}

}  // namespace

void migrate(const comm::Communicator& comm, const Layout& layout, const Geometry& geometry, Particles& particles) {
  std::vector<Leaver> leavers;
  comm.agree_on([&] {
    check(particles);
    leavers = find_leavers(layout, geometry, comm.rank(), particles);
  });
  Messages outgoing;
  for (const Leaver& leaver : leavers) append(particles, leaver.index, outgoing[leaver.to]);
  replace_leavers(leavers, comm::deliver(comm, outgoing).incoming, particles);
}

void migrate_levels(const comm::Communicator& comm, const mesh::Hierarchy& hierarchy, std::vector<Particles>& levels,
                    int from_level, std::int32_t margin) {
  std::vector<std::vector<Leaver>> leavers(levels.size());
  comm.agree_on([&] {
    core::require(static_cast<int>(levels.size()) == hierarchy.finest_level() + 1,
                  "particles are given level by level");
    for (auto l = static_cast<std::size_t>(from_level); l < levels.size(); ++l) {
      check(levels[l]);
      core::require(words_of(levels[l]) == words_of(levels.front()),
                    "the particles of all levels have the same attributes");
      leavers[l] = find_leavers(hierarchy, static_cast<int>(l), from_level, margin, comm.rank(), levels[l]);
    }
  });
  const auto incoming = exchange_levels(comm, leavers, levels);
  for (std::size_t l = 0; l < levels.size(); ++l) replace_leavers(leavers[l], incoming[l], levels[l]);
}

}  // namespace sidestream::redistribute
