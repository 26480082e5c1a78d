#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "couple/stream/part_cursor.hpp"
#include "sidestream/core/compression.hpp"

namespace sidestream::couple {

/// A transfer whose parts are compressed: field by field, of each part by part, its length in 8 bytes and what
/// `core::compress_block` makes of it; then the words of the particles, as they are, in the same way.
class OutgoingCompressed {
 public:
  OutgoingCompressed(std::shared_ptr<const Shelf> shelf, TransferOrder order);

  bool is_at_end() const { return next_ == items() && place_ == blob_.size(); }
  /// The next bytes, at most `most`.
  std::vector<std::byte> take(std::size_t most);
  std::int64_t bytes_done() const { return bytes_done_; }

 private:
  std::size_t items() const { return order_.fields.size() * order_.parts.size() + (order_.has_particles ? 1 : 0); }
  void make_next();

  std::shared_ptr<const Shelf> shelf_;
  TransferOrder order_;
  std::size_t next_ = 0;  // of all parts of all fields
  std::vector<std::byte> blob_;
  std::size_t place_ = 0;
  std::int64_t bytes_done_ = 0;
};

/// The other end of it.
class IncomingCompressed {
 public:
  /// `targets`: for each field in turn, one for each part. No more than `most_particle_bytes` are taken of particles.
  IncomingCompressed(TransferOrder order, std::vector<Incoming::Target> targets, std::int64_t most_particle_bytes);

  bool is_at_end() const;
  /// Takes all of `bytes`. Throws core::Error where they are damaged, before memory is taken for what cannot be.
  void take(std::span<const std::byte> bytes);
  const std::vector<std::byte>& particles() const { return particles_; }

 private:
  std::size_t cell_items() const { return order_.fields.size() * order_.parts.size(); }
  std::int64_t most_bytes() const;
  void finish_item();

  TransferOrder order_;
  std::vector<Incoming::Target> targets_;
  std::int64_t most_particle_bytes_;
  std::size_t item_ = 0;
  std::vector<std::byte> blob_;  // its length in front
  std::vector<std::byte> particles_;
};

}  // namespace sidestream::couple
