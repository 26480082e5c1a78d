#include "couple/publish/buffer_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sidestream::couple {

namespace {

bool can_hold(Buffer& buffer, std::size_t words) {
  return !buffer.shared || buffer.shared->reserve(words * sizeof(Word));
}

// The number of particles changes a little from publish to publish.
std::size_t with_some_room(std::size_t words) {
  return words + words / 16;
}

std::optional<Buffer> new_shared(std::size_t words) {
  Buffer buffer{{}, comm::SharedMemory::make(with_some_room(words) * sizeof(Word)), with_some_room(words)};
  return buffer.shared && can_hold(buffer, words) ? std::optional(std::move(buffer)) : std::nullopt;
}

}  // namespace

Buffer BufferPool::take(std::size_t words, bool is_to_be_lent) {
  auto best = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept)
    if (kept->shared.has_value() == is_to_be_lent && kept->capacity >= words && kept->capacity <= 2 * words &&
        !kept->is_lent() && (best == kept_.end() || kept->capacity < best->capacity))
      best = kept;
  if (best != kept_.end() && can_hold(*best, words)) {
    Buffer buffer = std::move(*best);
    kept_.erase(best);
    return buffer;
  }
  std::erase_if(kept_, [](const Buffer& kept) { return !kept.is_lent(); });
  if (is_to_be_lent)
    if (std::optional<Buffer> buffer = new_shared(words)) return std::move(*buffer);
  const std::size_t capacity = with_some_room(words);
  return {core::allocate_bytes(capacity * sizeof(Word)), {}, capacity};
}

void BufferPool::give_back(std::vector<Buffer> buffers) {
  std::ranges::copy_if(std::move_iterator(buffers.begin()), std::move_iterator(buffers.end()),
                       std::back_inserter(kept_), [](const Buffer& buffer) { return !buffer.is_empty(); });
}

}  // namespace sidestream::couple
