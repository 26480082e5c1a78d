#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "couple/stream/part_cursor.hpp"
#include "couple/stream/wire.hpp"

namespace sidestream::couple {

inline constexpr std::size_t least_in_place = std::size_t{16} << 10;  ///< smaller pieces are gathered

/// A transfer as a plain socket takes it: a head, then all bytes one behind the other, from where they lie if they lie
/// in pieces that are large enough.
class OutgoingBytes {
 public:
  /// `transfer`: as the reader numbered it; from where `cells` has come to.
  OutgoingBytes(std::uint64_t transfer, Outgoing cells);

  /// What is next, as much of it as is at hand; empty at the end.
  std::span<const std::byte> next();
  /// Goes past bytes that were given by `next`.
  void skip(std::size_t bytes) { at_hand_ = at_hand_.subspan(bytes); }

 private:
  Outgoing cells_;
  std::array<std::byte, sizeof(ChunkHead)> head_;
  std::unique_ptr<std::byte[]> gathered_;
  std::span<const std::byte> at_hand_;
};

}  // namespace sidestream::couple
