#include "couple/publish/cargo.hpp"

#include <algorithm>
#include <utility>

#include "couple/queue/spill_file.hpp"

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

// Frees its place in the file.
struct Cargo::Stored {
  std::shared_ptr<SpillFile> file;
  std::int64_t place;
  std::size_t words;
  bool is_taken = false;

  ~Stored() {
    if (!is_taken) file->forget(place, words);
  }
};

Cargo::Cargo(std::span<const Size> sizes, BufferPool& pool) {
  for (const Size& size : sizes)
    messages_.push_back(
        {size.peer, {static_cast<Word*>(nullptr), size.fields}, {static_cast<Word*>(nullptr), size.particles}});
  take_memory(pool);
}
Cargo::~Cargo() = default;
Cargo::Cargo(Cargo&&) noexcept = default;
Cargo& Cargo::operator=(Cargo&&) noexcept = default;

std::size_t Cargo::words() const {
  std::size_t words = 0;
  for (const Message& message : messages_) words += message.fields.size() + message.particles.size();
  return words;
}

void Cargo::take_memory(BufferPool& pool) {
  buffer_ = pool.take(words());
  Word* next = reinterpret_cast<Word*>(buffer_.bytes.get());
  for (Message& message : messages_) {
    message.fields = {next, message.fields.size()};
    message.particles = {next + message.fields.size(), message.particles.size()};
    next += message.fields.size() + message.particles.size();
  }
}

void Cargo::store(std::shared_ptr<SpillFile> file, BufferPool& pool) {
  const std::size_t count = words();
  const std::int64_t place = file->put({reinterpret_cast<const Word*>(buffer_.bytes.get()), count});
  stored_ = std::make_unique<Stored>(std::move(file), place, count);
  pool.give_back(std::exchange(buffer_, {}));
}

void Cargo::load(BufferPool& pool) {
  if (!stored_) return;
  take_memory(pool);
  stored_->file->take(stored_->place, {reinterpret_cast<Word*>(buffer_.bytes.get()), stored_->words});
  stored_->is_taken = true;
  stored_.reset();
}

}  // namespace sidestream::couple
