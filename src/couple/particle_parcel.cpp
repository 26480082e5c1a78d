#include "particle_parcel.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <utility>

#include "mailbox.hpp"
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

std::vector<std::int32_t> legs_of(const Route& route, const mesh::Snapshot& snapshot, int rank) {
  const mesh::Particles& particles = *snapshot.particles;
  const LeafFinder finder(snapshot, rank);
  std::vector<std::int32_t> legs(particles.size());
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

// Calls f(number, values) for the id, the position and the attributes of particles.
template <typename P, typename F>
void for_each_number(P& particles, F f) {
  std::size_t number = 0;
  f(number++, particles.id);
  for (auto& axis : particles.position) f(number++, axis);
  for (auto& attribute : particles.attributes) f(number++, attribute.values);
}

}  // namespace

ParticleParcel::ParticleParcel(const Route& route, const ParticleLabel& label)
    : label_(label), peers_(route.peers()), counts_(peers_.size(), 0) {}

ParticleParcel::ParticleParcel(const Route& route, const ParticleLabel& label, const mesh::Snapshot& snapshot, int rank)
    : ParticleParcel(route, label) {
  if (snapshot.particles == nullptr) return;
  const std::vector<std::int32_t> legs = legs_of(route, snapshot, rank);
  for (const std::int32_t leg : legs) ++counts_[static_cast<std::size_t>(leg)];
  allocate();
  pack(*snapshot.particles, legs);
}

void ParticleParcel::allocate() {
  std::size_t words = 0;
  for (const std::int64_t count : counts_) words += static_cast<std::size_t>(count) * label_.words();
  words_ = std::make_unique_for_overwrite<std::uint64_t[]>(words);
}

void ParticleParcel::pack(const mesh::Particles& particles, const std::vector<std::int32_t>& legs) {
  for_each_number(particles, [&](std::size_t number, const auto& values) {
    std::vector<std::uint64_t*> next;
    std::uint64_t* leg_begin = words_.get();
    for (const std::int64_t count : counts_) {
      next.push_back(leg_begin + number * static_cast<std::size_t>(count));
      leg_begin += static_cast<std::size_t>(count) * label_.words();
    }
    for (std::size_t p = 0; p < legs.size(); ++p)
      *next[static_cast<std::size_t>(legs[p])]++ = std::bit_cast<std::uint64_t>(values[p]);
  });
}

mesh::Particles ParticleParcel::unpacked() const {
  mesh::Particles particles;
  particles.mass = label_.mass;
  for (const FieldLabel& attribute : label_.attributes)
    particles.attributes.push_back({attribute.name, attribute.unit, {}});
  std::size_t before = 0;
  const std::uint64_t* next = words_.get();
  for (const std::int64_t count : counts_) {
    const std::size_t end = before + static_cast<std::size_t>(count);
    particles.resize(end);
    for_each_number(particles, [&](std::size_t, auto& values) {
      for (std::size_t p = before; p < end; ++p)
        values[p] = std::bit_cast<typename std::decay_t<decltype(values)>::value_type>(*next++);
    });
    before = end;
  }
  return particles;
}

template <typename F>
void ParticleParcel::for_each_message(F post) const {
  std::uint64_t* data = words_.get();
  for (std::size_t leg = 0; leg < peers_.size(); ++leg) {
    const std::size_t words = static_cast<std::size_t>(counts_[leg]) * label_.words();
    for_each_piece(words, [&](std::size_t first, int count) { post(data + first, count, peers_[leg]); });
    data += words;
  }
}

std::vector<MPI_Request> ParticleParcel::send(const comm::Communicator& joint) const {
  std::vector<MPI_Request> requests;
  for (std::size_t leg = 0; leg < peers_.size(); ++leg)
    comm::check(MPI_Isend(&counts_[leg], 1, MPI_INT64_T, peers_[leg], static_cast<int>(Tag::data), joint.raw(),
                          &requests.emplace_back()),
                "MPI_Isend");
  for_each_message([&](const std::uint64_t* data, int count, int peer) {
    comm::check(
        MPI_Isend(data, count, MPI_UINT64_T, peer, static_cast<int>(Tag::data), joint.raw(), &requests.emplace_back()),
        "MPI_Isend");
  });
  return requests;
}

std::vector<MPI_Request> ParticleParcel::receive_counts(const comm::Communicator& joint) {
  std::vector<MPI_Request> requests;
  for (std::size_t leg = 0; leg < peers_.size(); ++leg)
    comm::check(MPI_Irecv(&counts_[leg], 1, MPI_INT64_T, peers_[leg], static_cast<int>(Tag::data), joint.raw(),
                          &requests.emplace_back()),
                "MPI_Irecv");
  return requests;
}

std::vector<MPI_Request> ParticleParcel::receive(const comm::Communicator& joint) {
  allocate();
  std::vector<MPI_Request> requests;
  for_each_message([&](std::uint64_t* data, int count, int peer) {
    comm::check(
        MPI_Irecv(data, count, MPI_UINT64_T, peer, static_cast<int>(Tag::data), joint.raw(), &requests.emplace_back()),
        "MPI_Irecv");
  });
  return requests;
}

std::optional<ParticleLabel> label_of(const comm::Communicator& group, const mesh::Snapshot& snapshot) {
  const mesh::Particles* particles = snapshot.particles;
  ParticleLabel own;
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
