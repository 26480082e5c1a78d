#include "couple/stream/reader/incoming_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "couple/publish/cargo.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

constexpr std::size_t most_places = 256, most_bytes = std::size_t{4} << 20;

}  // namespace

IncomingBytes::IncomingBytes(std::uint64_t id, std::int64_t from, std::int64_t most_particle_bytes, Incoming& cells,
                             std::vector<std::byte>& particles)
    : id_(id),
      got_(from),
      most_particle_bytes_(most_particle_bytes),
      cells_(&cells),
      particles_(&particles),
      particle_bytes_(std::ssize(particles)) {}

std::span<const std::span<std::byte>> IncomingBytes::places() {
  places_.clear();
  if (head_bytes_ < head_.size()) {
    places_.push_back(std::span(head_).subspan(head_bytes_));
  } else if (cells_->is_at_end()) {
    places_.push_back(std::span(*particles_).subspan(static_cast<std::size_t>(particle_bytes_)));
  } else if (cells_->is_single()) {
    if (!to_convert_) to_convert_ = std::make_unique_for_overwrite<std::byte[]>(chunk_bytes);
    const auto left = static_cast<std::size_t>(cells_->bytes_left()) - not_converted_;
    places_.push_back({to_convert_.get() + not_converted_, std::min(left, chunk_bytes - not_converted_)});
  } else {
    cells_->add_places(places_, most_places, most_bytes);
  }
  return places_;
}

void IncomingBytes::take(std::size_t bytes) {
  if (head_bytes_ < head_.size()) {
    head_bytes_ += bytes;
    if (head_bytes_ == head_.size()) look_at_head();
    return;
  }
  if (cells_->is_at_end()) {
    particle_bytes_ += static_cast<std::int64_t>(bytes);
  } else if (cells_->is_single()) {
    not_converted_ += bytes;
    bytes = cells_->take({to_convert_.get(), not_converted_});
    std::memmove(to_convert_.get(), to_convert_.get() + bytes, not_converted_ - bytes);
    not_converted_ -= bytes;
  } else {
    cells_->skip(bytes);
  }
  got_ += static_cast<std::int64_t>(bytes);
}

void IncomingBytes::look_at_head() {
  ChunkHead head;
  std::memcpy(&head, head_.data(), sizeof head);
  const std::int64_t of_particles = head.total - cells_->bytes();
  if (head.transfer != id_ || head.offset != got_ || of_particles < 0 || of_particles > most_particle_bytes_ ||
      of_particles % static_cast<std::int64_t>(sizeof(Word)) != 0)
    throw core::Error(fmt::format("it announces {} bytes from {} on", head.total, head.offset));
  total_ = head.total;
  particles_->resize(static_cast<std::size_t>(of_particles));
}

}  // namespace sidestream::couple
