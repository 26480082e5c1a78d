#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "couple/stream/part_cursor.hpp"
#include "couple/stream/wire.hpp"

namespace sidestream::couple {

/// A transfer as it comes from a plain socket: a head, then all bytes one behind the other, straight to their places.
/// Throws core::Error for what was not asked for.
class IncomingBytes {
 public:
  /// From the byte `from` on of transfer `id`: `cells` has come to there, and `particles` hold what is there of them.
  IncomingBytes(std::uint64_t id, std::int64_t from, std::int64_t most_particle_bytes, Incoming& cells,
                std::vector<std::byte>& particles);

  /// Where the next bytes are to be put, until the next call.
  std::span<const std::span<std::byte>> places();
  /// So many were put there.
  void take(std::size_t bytes);
  /// Bytes of the transfer that are in their places, of `total`; that is negative before the head has come.
  std::int64_t got() const { return got_; }
  std::int64_t total() const { return total_; }

 private:
  void look_at_head();

  std::uint64_t id_;
  std::int64_t got_, total_ = -1, most_particle_bytes_;
  Incoming* cells_;
  std::vector<std::byte>* particles_;
  std::array<std::byte, sizeof(ChunkHead)> head_;
  std::size_t head_bytes_ = 0;
  std::int64_t particle_bytes_ = 0;
  std::unique_ptr<std::byte[]> to_convert_;
  std::size_t not_converted_ = 0;
  std::vector<std::span<std::byte>> places_;
};

}  // namespace sidestream::couple
