#include "couple/in_transit/cargo.hpp"

#include <algorithm>
#include <utility>

namespace sidestream::couple {

BufferPool::Buffer BufferPool::take(std::size_t words) {
  const auto fitting = std::ranges::find_if(
      kept_, [&](const Buffer& kept) { return kept.capacity >= words && kept.capacity <= 2 * words; });
  if (fitting == kept_.end()) {
    kept_.clear();
    // The number of particles changes a little from publish to publish.
    const std::size_t capacity = words + words / 16;
    return {core::allocate_bytes(capacity * sizeof(Word)), capacity};
  }
  Buffer buffer = std::move(*fitting);
  kept_.erase(fitting);
  return buffer;
}

Cargo::Cargo(std::span<const Size> sizes, BufferPool& pool) {
  std::size_t words = 0;
  for (const Size& size : sizes) words += size.fields + size.particles;
  buffer_ = pool.take(words);
  Word* next = reinterpret_cast<Word*>(buffer_.bytes.get());
  for (const Size& size : sizes) {
    messages_.push_back({size.peer, {next, size.fields}, {next + size.fields, size.particles}});
    next += size.fields + size.particles;
  }
}

}  // namespace sidestream::couple
