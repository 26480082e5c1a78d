#include "redistribute/planner.hpp"

#include <algorithm>
#include <tuple>

namespace sidestream::redistribute {

namespace {

using mesh::Box;
using mesh::Int3;
using mesh::Layout;

struct Addressed {
  int peer;
  Piece piece;
};

auto order_in_message(const Piece& p) {
  return std::tuple(p.destination, p.source, p.shift.z, p.shift.y, p.shift.x);
}

bool travels_before(const Addressed& a, const Addressed& b) {
  return a.peer != b.peer ? a.peer < b.peer : order_in_message(a.piece) < order_in_message(b.piece);
}

auto shift_order(Int3 shift) {
  return std::tuple(shift.z, shift.y, shift.x);
}

// The same for a piece and its opposite, then different.
auto order_of_pairs(const Piece& p) {
  const Int3 back = Int3{} - p.shift;
  const bool is_forward = std::tuple(p.source, shift_order(p.shift)) < std::tuple(p.destination, shift_order(back));
  return std::tuple(std::min(p.source, p.destination), std::max(p.source, p.destination),
                    shift_order(is_forward ? p.shift : back), is_forward);
}

bool is_left_out(const Piece& piece, Coverage coverage) {
  return coverage.skip_own && piece.source == piece.destination && piece.shift == Int3{};
}

// Position of a box among the boxes of its owner.
std::int32_t block_of(const Layout& layout, std::int32_t index, int rank) {
  const auto own = layout.boxes_of(rank);
  return static_cast<std::int32_t>(std::lower_bound(own.begin(), own.end(), index) - own.begin());
}

// Calls f(index, shift) for each box of `layout` whose image, grown by `grown`, meets `region`. Without ghost cells on
// either side no piece crosses the boundary of the domain.
template <typename F>
void for_each_image(const Layout& layout, const Box& region, mesh::Ghosts grown, bool crosses_boundary, F f) {
  if (crosses_boundary)
    layout.for_each_image_meeting(region.grown(grown.layers), f);
  else
    layout.for_each_meeting(region, [&](std::int32_t index) { f(index, Int3{}); });
}

Traffic grouped_by_peer(std::vector<Addressed> addressed, const Tables& tables) {
  std::sort(addressed.begin(), addressed.end(), travels_before);
  Traffic traffic;
  traffic.pieces.reserve(addressed.size());
  for (const auto& [peer, piece] : addressed) {
    if (traffic.messages.empty() || traffic.messages.back().peer != peer)
      traffic.messages.push_back({peer, traffic.pieces.size(), traffic.pieces.size(), 0});
    traffic.pieces.push_back(piece);
    traffic.messages.back().last = traffic.pieces.size();
    traffic.messages.back().cells += tables.region(piece).volume();
  }
  traffic.messages.shrink_to_fit();
  return traffic;
}

// The cells that a box of the destination takes.
Box taken_by(const Tables& tables, std::int32_t destination) {
  const Box grown = tables.to.box(destination).grown(tables.coverage.destination_ghost.layers);
  return tables.coverage.within ? intersection(grown, *tables.coverage.within) : grown;
}

// What arrives in the boxes of `rank`, from others and from itself.
void plan_arrivals(Tables& tables, int rank, bool crosses_boundary) {
  const auto own = tables.to.boxes_of(rank);
  std::vector<Addressed> arriving;
  for (std::size_t b = 0; b < own.size(); ++b) {
    const Box wanted = taken_by(tables, own[b]);
    if (wanted.is_empty()) continue;
    for_each_image(tables.from, wanted, tables.coverage.source_ghost, crosses_boundary,
                   [&](std::int32_t source, Int3 shift) {
                     Piece piece{source, own[b], -1, static_cast<std::int32_t>(b), shift};
                     if (is_left_out(piece, tables.coverage)) return;
                     const int peer = tables.from.owner(source);
                     if (peer == rank) {
                       piece.source_block = block_of(tables.from, source, rank);
                       tables.local.push_back(piece);
                     } else {
                       arriving.push_back({peer, piece});
                     }
                   });
  }
  tables.local.shrink_to_fit();
  order_for_copies(tables.local);
  tables.incoming = grouped_by_peer(std::move(arriving), tables);
}

// What leaves the boxes of `rank` for others.
void plan_departures(Tables& tables, int rank, bool crosses_boundary) {
  const auto own = tables.from.boxes_of(rank);
  std::vector<Addressed> leaving;
  for (std::size_t b = 0; b < own.size(); ++b) {
    const Box offered = tables.from.box(own[b]).grown(tables.coverage.source_ghost.layers);
    for_each_image(tables.to, offered, tables.coverage.destination_ghost, crosses_boundary,
                   [&](std::int32_t destination, Int3 shift) {
                     // The image of the destination that meets the source, seen from the destination.
                     const Piece piece{own[b], destination, static_cast<std::int32_t>(b), -1, Int3{} - shift};
                     const int peer = tables.to.owner(destination);
                     const bool is_wanted = !tables.coverage.within || !tables.region(piece).is_empty();
                     if (peer != rank && is_wanted && !is_left_out(piece, tables.coverage))
                       leaving.push_back({peer, piece});
                   });
  }
  tables.outgoing = grouped_by_peer(std::move(leaving), tables);
}

std::size_t size_of(const Traffic& traffic) {
  return traffic.pieces.capacity() * sizeof(Piece) + traffic.messages.capacity() * sizeof(Message);
}

}  // namespace

Box Tables::region(const Piece& piece) const {
  return intersection(from.box(piece.source).grown(coverage.source_ghost.layers).shifted(piece.shift),
                      taken_by(*this, piece.destination));
}

std::size_t Tables::size_bytes() const {
  return sizeof(Tables) + size_of(outgoing) + size_of(incoming) + local.capacity() * sizeof(Piece);
}

void order_for_sums(std::vector<Piece>& local) {
  std::sort(local.begin(), local.end(),
            [](const Piece& a, const Piece& b) { return order_in_message(a) < order_in_message(b); });
}

void order_for_copies(std::vector<Piece>& local) {
  std::sort(local.begin(), local.end(),
            [](const Piece& a, const Piece& b) { return order_of_pairs(a) < order_of_pairs(b); });
}

Tables plan_of_rank(const Layout& from, const Layout& to, Coverage coverage, int rank) {
  const bool crosses_boundary = coverage.source_ghost.most() > 0 || coverage.destination_ghost.most() > 0;
  Tables tables{from, to, coverage, {}, {}, {}};
  plan_arrivals(tables, rank, crosses_boundary);
  plan_departures(tables, rank, crosses_boundary);
  return tables;
}

}  // namespace sidestream::redistribute
