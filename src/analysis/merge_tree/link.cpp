#include "analysis/merge_tree/link.hpp"

#include <algorithm>

namespace sidestream::analysis {

namespace {

constexpr std::size_t most_bits_of_table = 18;

}  // namespace

Link::Link(Connectivity connectivity) {
  const auto adjacent = neighbor_offsets(connectivity);
  // Two faces of a cell do not touch; they are connected by way of the cell that shares an edge with it.
  for (const mesh::Int3 offset : neighbor_offsets(Connectivity::full)) {
    const bool is_corner = offset.x != 0 && offset.y != 0 && offset.z != 0;
    const bool is_neighbor = std::find(adjacent.begin(), adjacent.end(), offset) != adjacent.end();
    if (!is_neighbor && (connectivity != Connectivity::faces || is_corner)) continue;
    if (is_neighbor) neighbors_ |= Mask{1} << offsets_.size();
    offsets_.push_back(offset);
  }
  for (const mesh::Int3 a : offsets_) {
    Mask& touching = touching_.emplace_back(0);
    for (std::size_t b = 0; b < offsets_.size(); ++b)
      if (std::find(adjacent.begin(), adjacent.end(), offsets_[b] - a) != adjacent.end()) touching |= Mask{1} << b;
  }
  if (offsets_.size() > most_bits_of_table) return;
  std::vector<std::uint8_t> table(std::size_t{1} << offsets_.size());
  for (std::size_t cells = 0; cells < table.size(); ++cells) table[cells] = find_connected(static_cast<Mask>(cells));
  table_ = std::move(table);
}

template <Connectivity connectivity>
const Link& Link::kept() {
  static const Link link(connectivity);
  return link;
}

const Link& Link::of(Connectivity connectivity) {
  if (connectivity == Connectivity::faces) return kept<Connectivity::faces>();
  if (connectivity == Connectivity::full) return kept<Connectivity::full>();
  return kept<Connectivity::freudenthal>();
}

Link::Mask Link::part(Mask cells, int first) const {
  Mask found = Mask{1} << first;
  for (Mask fresh = found; fresh != 0;) {
    Mask reached = 0;
    for (; fresh != 0; fresh &= fresh - 1) reached |= touching_[static_cast<std::size_t>(std::countr_zero(fresh))];
    fresh = reached & cells & ~found;
    found |= fresh;
  }
  return found;
}

bool Link::find_connected(Mask cells) const {
  const Mask higher = cells & neighbors_;
  return higher == 0 || (higher & ~part(cells, std::countr_zero(higher))) == 0;
}

}  // namespace sidestream::analysis
