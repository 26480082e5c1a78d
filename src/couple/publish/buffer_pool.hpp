#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sidestream/comm/shared_memory.hpp"
#include "sidestream/core/memory.hpp"

namespace sidestream::couple {

/// The unit in which data travel: a number of a field or of a particle, as its bits.
using Word = std::uint64_t;

/// Memory for a message: of this process alone, or such as it can lend to others.
struct Buffer {
  core::Bytes own;
  std::optional<comm::SharedMemory> shared;
  std::size_t capacity = 0;  ///< in words

  Word* words() const { return reinterpret_cast<Word*>(shared ? shared->bytes().data() : own.get()); }
  bool is_empty() const { return capacity == 0; }
  bool is_lent() const { return shared && shared->is_lent(); }
};

/// Memory for data under way. What comes back is kept for messages that need up to twice less, since fresh memory costs
/// as much time as the copy; where none fits, all that is kept is freed first, so that no more is held than was under
/// way at once. What is lent may come back, too: it is kept until others have given it back.
class BufferPool {
 public:
  /// Room for at least `words` words, not initialised. Where `is_to_be_lent`, such as can be lent if the system has
  /// any.
  Buffer take(std::size_t words, bool is_to_be_lent = false);
  void give_back(std::vector<Buffer> buffers);

 private:
  std::vector<Buffer> kept_;
};

}  // namespace sidestream::couple
