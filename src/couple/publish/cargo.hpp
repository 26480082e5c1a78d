#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "couple/publish/buffer_pool.hpp"

namespace sidestream::couple {

class SpillFile;

/// The data of one publish here: one message for each rank of the other group that blocks are exchanged with, first its
/// fields, then its particles. Move-only.
class Cargo {
 public:
  /// How many words a message has of each.
  struct Size {
    int peer = 0;  ///< in the joint communicator
    std::size_t fields = 0, particles = 0;
    bool is_lent = false;  ///< rather than sent: the one that receives it reads the memory of the one that wrote it
  };
  struct Message {
    int peer = 0;
    std::span<Word> fields, particles;
    bool is_lent = false;

    std::span<Word> words() const { return {fields.data(), fields.size() + particles.size()}; }
    bool is_empty() const { return fields.empty() && particles.empty(); }
    std::int64_t bytes() const { return static_cast<std::int64_t>(words().size_bytes()); }
  };

  /// Without memory yet.
  explicit Cargo(std::span<const Size> sizes);
  ~Cargo();
  Cargo(Cargo&&) noexcept;
  Cargo& operator=(Cargo&&) noexcept;

  std::span<const Message> messages() const { return messages_; }

  /// Has memory for all messages, or one, with what was stored of them. Throws core::Error where that cannot be read.
  void load(BufferPool& pool);
  void load(std::size_t message, BufferPool& pool);
  /// Puts the data into `file`, and the memory back into the pool. Throws core::Error where the disk does not take
  /// them: then they stay where they were.
  void store(const std::shared_ptr<SpillFile>& file, BufferPool& pool);

  /// Where the one that receives a message finds it; nowhere if its memory cannot be lent.
  comm::SharedMemory::Address lend(std::size_t message) const;
  /// Where those to whom messages were lent have ended.
  void take_back();
  /// The message lies in the memory of the one that wrote it, until the cargo ends.
  void borrow(std::size_t message, comm::SharedMemory memory);
  /// It is sent after all.
  void give_up_loan(std::size_t message) { messages_[message].is_lent = false; }
  /// Of the messages that are lent.
  std::int64_t bytes_lent() const;

  /// The memory of what has arrived.
  std::vector<Buffer> release() &&;

 private:
  struct Stored;

  void place(std::size_t message, Buffer buffer);

  std::vector<Message> messages_;
  std::vector<Buffer> buffers_;                  // by message
  std::vector<std::unique_ptr<Stored>> stored_;  // by message, where it is not in memory
};

}  // namespace sidestream::couple
