#include "couple/publish/particle_cargo.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <bit>
#include <utility>

#include "couple/publish/protocol.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/redistribute/owned_cells.hpp"

namespace sidestream::couple {

namespace {

// Finds the leaf of a rank that holds a position.
class LeafFinder {
 public:
  LeafFinder(const mesh::Snapshot& snapshot, int rank) : geometry_(snapshot.geometry) {
    for (const mesh::Layout& layout : snapshot.levels) levels_.push_back({layout.domain(), {layout, rank}});
  }

  // The leg of the leaf; -1 where this rank has none.
  std::int32_t leg_of(const Route& route, const std::array<double, 3>& position) const {
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!(position[axis] >= 0.0 && position[axis] < geometry_.length[axis])) return -1;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      const mesh::Geometry geometry{levels_[level].domain, geometry_.length, geometry_.periodic};
      const std::int32_t block = levels_[level].cells.block_of(cell_of(geometry, position));
      if (block >= 0) return route.leg_of(level, block);
    }
    return -1;
  }

 private:
  struct Level {
    mesh::Box domain;
    redistribute::OwnedCells cells;
  };
  mesh::Geometry geometry_;
  std::vector<Level> levels_;
};

std::vector<std::int32_t> legs_of(const Route& route, const mesh::Particles& particles, const mesh::Snapshot& snapshot,
                                  int rank) {
  std::vector<std::int32_t> legs(particles.size());
  if (route.stays() && !route.peers().empty()) return legs;
  const LeafFinder finder(snapshot, rank);
  for (std::size_t p = 0; p < legs.size(); ++p) {
    const std::array position{particles.position[0][p], particles.position[1][p], particles.position[2][p]};
    legs[p] = finder.leg_of(route, position);
    if (legs[p] < 0)
      throw core::Error(fmt::format("particle {} at ({}, {}, {}) is in no cell of rank {}", particles.id[p],
                                    position[0], position[1], position[2], rank),
                        "", "migrate the particles before they are published");
  }
  return legs;
}

// Calls f(values) for the id, the position and the attributes of particles.
template <typename P, typename F>
void for_each_number(P& particles, F f) {
  f(particles.id);
  for (auto& axis : particles.position) f(axis);
  for (auto& attribute : particles.attributes) f(attribute.values);
}

}  // namespace

ParticleLegs::ParticleLegs(const Route& route, const mesh::Snapshot& snapshot, const std::vector<ParticleLabel>& labels,
                           int rank)
    : words_(labels.empty() ? 0 : route.peers().size(), std::ssize(labels)) {
  for (const ParticleLabel& label : labels) {
    OfSpecies& own = species_.emplace_back(snapshot.particles(label.species));
    own.counts.resize(words_.size());
    if (own.particles == nullptr) continue;
    own.legs = legs_of(route, *own.particles, snapshot, rank);
    for (const std::int32_t leg : own.legs) {
      ++own.counts[static_cast<std::size_t>(leg)];
      words_[static_cast<std::size_t>(leg)] += static_cast<std::int64_t>(label.words());
    }
  }
}

void ParticleLegs::pack(const Cargo& cargo) const {
  std::vector<Word*> start;
  for (std::size_t leg = 0; leg < words_.size(); ++leg) {
    start.push_back(cargo.messages()[leg].particles.data());
    for (const OfSpecies& own : species_) *start[leg]++ = static_cast<Word>(own.counts[leg]);
  }
  for (const OfSpecies& own : species_) {
    if (own.particles == nullptr) continue;
    for_each_number(*own.particles, [&](const auto& values) {
      std::vector<Word*> next = start;
      for (std::size_t p = 0; p < own.legs.size(); ++p)
        *next[static_cast<std::size_t>(own.legs[p])]++ = std::bit_cast<Word>(values[p]);
      start = std::move(next);
    });
  }
}

void add_particles(const std::vector<ParticleLabel>& labels, const Cargo& cargo, mesh::Snapshot& into) {
  std::vector<const Word*> next;
  for (const Cargo::Message& message : cargo.messages()) next.push_back(message.particles.data() + labels.size());
  for (std::size_t s = 0; s < labels.size(); ++s) {
    mesh::Particles particles;
    particles.mass = labels[s].mass;
    for (const FieldLabel& attribute : labels[s].attributes)
      particles.attributes.push_back({attribute.name, attribute.unit, {}});
    std::size_t count = 0, before = 0;
    for (const Cargo::Message& message : cargo.messages()) count += message.particles[s];
    particles.resize(count);
    for (std::size_t m = 0; m < next.size(); ++m) {
      const std::size_t end = before + cargo.messages()[m].particles[s];
      for_each_number(particles, [&](auto& values) {
        for (std::size_t p = before; p < end; ++p)
          values[p] = std::bit_cast<typename std::decay_t<decltype(values)>::value_type>(*next[m]++);
      });
      before = end;
    }
    into.add_species({labels[s].species, std::move(particles)});
  }
}

std::optional<ParticleLabel> label_of(const comm::Communicator& group, const mesh::Snapshot& snapshot,
                                      const std::string& species) {
  const mesh::Particles* particles = snapshot.particles(species);
  ParticleLabel own;
  own.species = species;
  group.agree_on([&] {
    if (particles == nullptr) return;
    check(*particles);
    own.mass = particles->mass;
    for (const mesh::ParticleAttribute& attribute : particles->attributes)
      own.attributes.push_back({attribute.name, attribute.unit});
  });
  const std::int64_t first = group.min(std::int64_t{particles == nullptr ? group.size() : group.rank()});
  if (first == group.size()) return std::nullopt;
  const std::string words = packed(to_message(own));
  const std::string told = group.broadcast(words, static_cast<int>(first));
  group.agree(particles == nullptr || words == told ? ""
                                                    : "the ranks publish particles of different mass or attributes");
  ParticleLabel label = particle_label_from(unpacked(told));
  label.count = group.sum(static_cast<std::int64_t>(particles == nullptr ? 0 : particles->size()));
  return label;
}

}  // namespace sidestream::couple
