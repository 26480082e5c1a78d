#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sidestream/core/memory.hpp"

namespace sidestream::couple {

/// The unit in which data travel: a number of a field or of a particle, as its bits.
using Word = std::uint64_t;

class SpillFile;

/// Memory for data under way. What comes back is kept for publishes that need up to twice less, since fresh memory
/// costs as much time as the copy; where none fits, all that is kept is freed first, so that no more is held than was
/// under way at once.
class BufferPool {
 public:
  struct Buffer {
    core::Bytes bytes;
    std::size_t capacity = 0;  ///< in words
  };

  /// Room for at least `words` words, not initialised.
  Buffer take(std::size_t words);
  void give_back(Buffer buffer) { kept_.push_back(std::move(buffer)); }

 private:
  std::vector<Buffer> kept_;
};

/// The data of one publish here: one message for each rank of the other group that blocks are exchanged with, all in
/// one buffer, first the fields of a message, then its particles. Move-only.
class Cargo {
 public:
  struct Message {
    int peer = 0;  ///< in the joint communicator
    std::span<Word> fields, particles;

    std::span<Word> words() const { return {fields.data(), fields.size() + particles.size()}; }
    bool is_empty() const { return fields.empty() && particles.empty(); }
    std::int64_t bytes() const { return static_cast<std::int64_t>(words().size_bytes()); }
  };
  /// How many words a message has of each.
  struct Size {
    int peer = 0;
    std::size_t fields = 0, particles = 0;
  };

  Cargo(std::span<const Size> sizes, BufferPool& pool);
  ~Cargo();
  Cargo(Cargo&&) noexcept;
  Cargo& operator=(Cargo&&) noexcept;

  std::span<const Message> messages() const { return messages_; }

  /// Puts the data into `file`, and the memory back into the pool. Throws core::Error where the disk does not take
  /// them: then they stay where they were.
  void store(std::shared_ptr<SpillFile> file, BufferPool& pool);
  /// Back into memory, if they are not there. Throws core::Error.
  void load(BufferPool& pool);

  /// The memory of what has arrived.
  BufferPool::Buffer release() && { return std::move(buffer_); }

 private:
  struct Stored;

  std::size_t words() const;
  // Gives each message its part of the memory, by the sizes they have.
  void take_memory(BufferPool& pool);

  BufferPool::Buffer buffer_;
  std::vector<Message> messages_;
  std::unique_ptr<Stored> stored_;
};

}  // namespace sidestream::couple
