#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/redistribute/redistribution.hpp"

namespace sidestream::redistribute {

/// Cells that go from one box to another: what the grown source box, moved by `shift`, and the grown destination box
/// share.
struct Piece {
  std::int32_t source = -1, destination = -1;              ///< indices of the boxes in their layouts
  std::int32_t source_block = -1, destination_block = -1;  ///< among the boxes of this rank, -1 when on another
  mesh::Int3 shift;                                        ///< of the periodic image [cells]
};

/// The pieces `[first, last)` that two ranks exchange, in one message.
struct Message {
  int peer = -1;
  std::size_t first = 0, last = 0;
  std::int64_t cells = 0;
};

/// What one rank sends, or receives: pieces ordered by (peer, destination, source, shift), alike on both ranks, and one
/// message for each peer.
struct Traffic {
  std::vector<Piece> pieces;
  std::vector<Message> messages;
};

/// All that one rank must know to exchange.
struct Tables {
  mesh::Layout from, to;
  Coverage coverage;
  Traffic outgoing, incoming;
  std::vector<Piece> local;  ///< from this rank to itself, in one of the orders below

  /// The cells of a piece, in the indices of the destination; those of the source are `shifted(-shift)`.
  mesh::Box region(const Piece& piece) const;
  std::size_t size_bytes() const;
};

/// Orders local pieces for sums: by (destination, source, shift).
void order_for_sums(std::vector<Piece>& local);
/// Orders local pieces for copies: those that touch one box follow each other, each with the one that goes the opposite
/// way, since what a box gives and what it gets through one face lie in the same lines of memory.
void order_for_copies(std::vector<Piece>& local);

/// The tables of `rank`, local pieces ordered for copies. Local: talks to nobody. Cost: O(pieces of the rank) look-ups,
/// whatever the number of boxes of the layouts.
Tables plan_of_rank(const mesh::Layout& from, const mesh::Layout& to, Coverage coverage, int rank);

}  // namespace sidestream::redistribute
