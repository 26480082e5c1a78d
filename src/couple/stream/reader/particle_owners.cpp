#include "couple/stream/reader/particle_owners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "sidestream/comm/sparse_exchange.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

// The owner of the finest box that holds a position; -1: none does.
std::int32_t owner_of(const mesh::Snapshot& snapshot, const std::array<double, 3>& position) {
  for (std::size_t level = snapshot.levels.size(); level-- > 0;) {
    const mesh::Layout& layout = snapshot.levels[level];
    const mesh::Geometry geometry{layout.domain(), snapshot.geometry.length, snapshot.geometry.periodic};
    for (std::size_t axis = 0; axis < 3; ++axis)
      if (!(position[axis] >= 0.0 && position[axis] < geometry.length[axis])) return -1;
    const std::int32_t index = layout.find(cell_of(geometry, position));
    if (index >= 0) return layout.owner(index);
  }
  return -1;
}

// Calls f(species, words of the particle) for each in messages that lie one behind the other: [number of each species],
// then of each species [word of a particle][particle]. Throws core::Error unless they fill it.
template <typename F>
void for_each_particle(const std::vector<ParticleLabel>& labels, std::span<const Word> message, F f) {
  const core::Error damaged("a message with particles is damaged");
  std::vector<Word> words;
  while (!message.empty()) {
    if (message.size() < labels.size() || labels.empty()) throw damaged;
    std::size_t first = labels.size();
    for (std::size_t s = 0; s < labels.size(); ++s) {
      const std::size_t width = labels[s].words(), count = message[s];
      if (count > (message.size() - first) / width) throw damaged;
      for (std::size_t p = 0; p < count; ++p) {
        words.clear();
        for (std::size_t w = 0; w < width; ++w) words.push_back(message[first + w * count + p]);
        f(s, words);
      }
      first += width * count;
    }
    message = message.subspan(first);
  }
}

}  // namespace

void add_particles_of_owners(const comm::Communicator& comm, const std::vector<ParticleLabel>& labels,
                             const std::vector<std::string>& wanted, const std::vector<std::vector<Word>>& messages,
                             mesh::Snapshot& into) {
  const auto is_wanted = [&](std::size_t s) { return std::ranges::find(wanted, labels[s].species) != wanted.end(); };
  std::vector<comm::ByRank<Word>> outgoing(labels.size());
  comm.agree_on([&] {
    for (const std::vector<Word>& message : messages)
      for_each_particle(labels, message, [&](std::size_t s, const std::vector<Word>& words) {
        if (!is_wanted(s)) return;
        const std::int32_t owner = owner_of(
            into, {std::bit_cast<double>(words[1]), std::bit_cast<double>(words[2]), std::bit_cast<double>(words[3])});
        if (owner >= 0) std::ranges::copy(words, std::back_inserter(outgoing[s][owner]));
      });
  });
  for (std::size_t s = 0; s < labels.size(); ++s) {
    if (!is_wanted(s)) continue;
    const std::size_t width = labels[s].words();
    mesh::Particles particles;
    particles.mass = labels[s].mass;
    for (const FieldLabel& attribute : labels[s].attributes)
      particles.attributes.push_back({attribute.name, attribute.unit, {}});
    for (const auto& [rank, words] : comm::deliver(comm, outgoing[s]).incoming)
      for (std::size_t p = 0; p + width <= words.size(); p += width) {
        particles.id.push_back(std::bit_cast<std::int64_t>(words[p]));
        for (std::size_t axis = 0; axis < 3; ++axis)
          particles.position[axis].push_back(std::bit_cast<double>(words[p + 1 + axis]));
        for (std::size_t a = 0; a < particles.attributes.size(); ++a)
          particles.attributes[a].values.push_back(std::bit_cast<double>(words[p + 4 + a]));
      }
    into.add_species({labels[s].species, std::move(particles)});
  }
}

}  // namespace sidestream::couple
