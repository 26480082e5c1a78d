#include "couple/publish/cargo.hpp"

#include <utility>

#include "couple/queue/spill_file.hpp"

namespace sidestream::couple {

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

Cargo::Cargo(std::span<const Size> sizes) : buffers_(sizes.size()), stored_(sizes.size()) {
  Word* const nowhere = nullptr;
  for (const Size& size : sizes)
    messages_.push_back({size.peer, {nowhere, size.fields}, {nowhere, size.particles}, size.is_lent});
}
Cargo::~Cargo() = default;
Cargo::Cargo(Cargo&&) noexcept = default;
Cargo& Cargo::operator=(Cargo&&) noexcept = default;

void Cargo::place(std::size_t message, Buffer buffer) {
  Message& placed = messages_[message];
  placed.fields = {buffer.words(), placed.fields.size()};
  placed.particles = {buffer.words() + placed.fields.size(), placed.particles.size()};
  buffers_[message] = std::move(buffer);
}

void Cargo::load(BufferPool& pool) {
  for (std::size_t message = 0; message < messages_.size(); ++message) load(message, pool);
}

void Cargo::load(std::size_t message, BufferPool& pool) {
  if (!buffers_[message].is_empty() || messages_[message].is_empty()) return;
  place(message, pool.take(messages_[message].words().size(), messages_[message].is_lent));
  if (!stored_[message]) return;
  stored_[message]->file->take(stored_[message]->place, messages_[message].words());
  stored_[message]->is_taken = true;
  stored_[message].reset();
}

void Cargo::store(const std::shared_ptr<SpillFile>& file, BufferPool& pool) {
  std::vector<std::unique_ptr<Stored>> stored(messages_.size());
  for (std::size_t message = 0; message < messages_.size(); ++message)
    if (const std::span<Word> words = messages_[message].words(); !words.empty())
      stored[message] = std::make_unique<Stored>(file, file->put(words), words.size());
  stored_ = std::move(stored);
  pool.give_back(std::exchange(buffers_, std::vector<Buffer>(messages_.size())));
}

comm::SharedMemory::Address Cargo::lend(std::size_t message) const {
  const std::optional<comm::SharedMemory>& memory = buffers_[message].shared;
  return memory ? memory->lend() : comm::SharedMemory::Address{};
}

void Cargo::take_back() {
  for (Buffer& buffer : buffers_)
    if (buffer.shared) buffer.shared->take_back();
}

void Cargo::borrow(std::size_t message, comm::SharedMemory memory) {
  const std::size_t capacity = memory.bytes().size() / sizeof(Word);
  place(message, {{}, std::move(memory), capacity});
}

std::int64_t Cargo::bytes_lent() const {
  std::int64_t bytes = 0;
  for (const Message& message : messages_)
    if (message.is_lent) bytes += message.bytes();
  return bytes;
}

std::vector<Buffer> Cargo::release() && {
  return std::move(buffers_);
}

}  // namespace sidestream::couple
