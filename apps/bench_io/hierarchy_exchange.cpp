#include "hierarchy_exchange.hpp"

#include <algorithm>
#include <utility>

namespace sidestream::bench {

namespace {

// Those that stay do not travel.
std::vector<Particle> delivered(const comm::Communicator& comm, const std::vector<Particle>& particles,
                                const auto& target) {
  const auto ranks = static_cast<std::size_t>(comm.size()), own = static_cast<std::size_t>(comm.rank());
  std::vector<std::size_t> targets, counts(ranks);
  targets.reserve(particles.size());
  for (const Particle& particle : particles) ++counts[targets.emplace_back(static_cast<std::size_t>(target(particle)))];
  std::vector<std::vector<Particle>> outgoing(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) outgoing[rank].reserve(counts[rank]);
  for (std::size_t p = 0; p < particles.size(); ++p) outgoing[targets[p]].push_back(particles[p]);
  std::vector<Particle> all = std::exchange(outgoing[own], {});
  for (const std::vector<Particle>& incoming : comm.exchange(outgoing))
    all.insert(all.end(), incoming.begin(), incoming.end());
  return all;
}

// Calls `f(first, count)` for the cells of the root that lie together in `box`, line by line.
void for_each_line(const mesh::Box& root, const mesh::Box& box, const auto& f) {
  const auto count = static_cast<std::size_t>(box.extent().x);
  for (std::int32_t k = box.lo.z; k < box.hi.z; ++k)
    for (std::int32_t j = box.lo.y; j < box.hi.y; ++j)
      f(static_cast<std::size_t>(linear_index(root, {box.lo.x, j, k})), count);
}

// The same for cells that are in `share` too: `f(first, count, cell)`, where `cell` is the number of the first within
// `box`.
void for_each_line_in(const mesh::Box& root, const mesh::Box& box, Share share, const auto& f) {
  std::size_t cell = 0;
  for_each_line(root, box, [&](std::size_t line, std::size_t length) {
    const auto begin = static_cast<std::int64_t>(line), end = static_cast<std::int64_t>(line + length);
    const std::int64_t low = std::max(begin, share.first), high = std::min(end, share.first + share.count);
    if (low < high) f(low, high - low, cell + static_cast<std::size_t>(low - begin));
    cell += length;
  });
}

}  // namespace

std::vector<Particle> brought_to_owners(const Hierarchy& hierarchy, const std::vector<Particle>& particles) {
  return delivered(hierarchy.comm(), particles,
                   [&](const Particle& particle) { return hierarchy.root_owner(particle); });
}

std::vector<Particle> sorted_share(const comm::Communicator& comm, const std::vector<Particle>& particles,
                                   std::int64_t total) {
  std::vector<Particle> own =
      delivered(comm, particles, [&](const Particle& particle) { return sharer_of(particle.id, comm.size(), total); });
  std::ranges::sort(own, {}, &Particle::id);
  return own;
}

std::vector<float> gathered_field(const Hierarchy& hierarchy, std::size_t field) {
  const comm::Communicator& comm = hierarchy.comm();
  const std::vector<float> blocks = comm.gather(hierarchy.pieces().front().field(field));
  std::vector<float> whole(blocks.size());
  auto next = blocks.begin();
  for (int rank = 0; rank < comm.size() && !blocks.empty(); ++rank)
    for_each_line(hierarchy.root(), hierarchy.root_box(rank), [&](std::size_t first, std::size_t count) {
      std::copy_n(next, count, whole.begin() + static_cast<std::ptrdiff_t>(first));
      next += static_cast<std::ptrdiff_t>(count);
    });
  return whole;
}

void deal_cells(const Hierarchy& hierarchy, const std::vector<Share>& shares, const std::vector<float>& own,
                Piece& piece) {
  const comm::Communicator& comm = hierarchy.comm();
  const mesh::Box root = hierarchy.root();
  const auto place = [](int rank) { return static_cast<std::size_t>(rank); };
  const Share mine = shares[place(comm.rank())];
  std::vector<std::vector<float>> outgoing(shares.size());
  for (std::size_t f = 0; f < baryon_fields.size(); ++f)
    for (int rank = 0; rank < comm.size(); ++rank)
      for_each_line_in(root, hierarchy.root_box(rank), mine, [&](std::int64_t first, std::int64_t count, std::size_t) {
        const auto begin = own.begin() + static_cast<std::int64_t>(f) * mine.count + (first - mine.first);
        outgoing[place(rank)].insert(outgoing[place(rank)].end(), begin, begin + count);
      });
  const std::vector<std::vector<float>> incoming = comm.exchange(outgoing);
  for (int rank = 0; rank < comm.size(); ++rank) {
    auto next = incoming[place(rank)].begin();
    for (std::size_t f = 0; f < baryon_fields.size(); ++f)
      for_each_line_in(root, piece.box, shares[place(rank)], [&](std::int64_t, std::int64_t count, std::size_t cell) {
        std::copy_n(next, count, piece.field(f).subspan(cell).begin());
        next += count;
      });
  }
}

}  // namespace sidestream::bench
