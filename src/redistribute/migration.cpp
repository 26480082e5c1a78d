#include "sidestream/redistribute/migration.hpp"

#include <fmt/format.h>

#include <bit>

#include "redistribute/owned_cells.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::redistribute {

namespace {

using mesh::Geometry;
using mesh::Int3;
using mesh::Layout;
using mesh::Particles;

struct Leaver {
  std::size_t index;
  int to;
};

[[noreturn]] void reject(const Particles& particles, std::size_t p, const char* what) {
  throw core::Error(fmt::format("particle {} at ({}, {}, {}) {}", particles.id[p], particles.position[0][p],
                                particles.position[1][p], particles.position[2][p], what),
                    "", "look at the time step and at the forces");
}

int owner_of(const Layout& layout, const Particles& particles, std::size_t p, Int3 cell) {
  const auto index = layout.find(cell);
  if (index < 0) reject(particles, p, "is outside of all boxes");
  return layout.owner(index);
}

// Wraps all positions and finds the particles whose cell another rank owns, in the order of their index.
std::vector<Leaver> find_leavers(const Layout& layout, const Geometry geometry, int rank, Particles& particles) {
  const OwnedCells own(layout, rank);
  std::vector<Leaver> leavers;
  for (std::size_t p = 0; p < particles.size(); ++p) {
    Int3 cell;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const double x = particles.position[a][p];
      const double inside = geometry.periodic[a] ? mesh::wrapped_coordinate(x, geometry.length[a]) : x;
      if (!(inside >= 0.0 && inside < geometry.length[a])) reject(particles, p, "is outside of the domain");
      if (inside != x) particles.position[a][p] = inside;
      cell[axis] = cell_of(geometry, axis, inside);
    }
    if (!own.contains(cell)) leavers.push_back({p, owner_of(layout, particles, p, cell)});
  }
  return leavers;
}

// A particle as 64-bit words: id, position, attributes.
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
void replace_leavers(const std::vector<Leaver>& leavers, const std::vector<std::vector<std::uint64_t>>& incoming,
                     Particles& particles) {
  const std::size_t words = words_of(particles), before = particles.size();
  std::size_t arrivals = 0, arrived = 0;
  for (const auto& message : incoming) arrivals += message.size() / words;
  if (arrivals > leavers.size()) particles.resize(before + arrivals - leavers.size());
  for (const auto& message : incoming)
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

}  // namespace

void migrate(const comm::Communicator& comm, const Layout& layout, const Geometry& geometry, Particles& particles) {
  std::vector<Leaver> leavers;
  comm.agree_on([&] {
    check(particles);
    leavers = find_leavers(layout, geometry, comm.rank(), particles);
  });
  std::vector<std::vector<std::uint64_t>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const Leaver& leaver : leavers) append(particles, leaver.index, outgoing[static_cast<std::size_t>(leaver.to)]);
  replace_leavers(leavers, comm.exchange(outgoing), particles);
}

}  // namespace sidestream::redistribute
