#include "couple/stream/run/outgoing_bytes.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sidestream::couple {

namespace {

constexpr std::size_t most_in_place = std::size_t{4} << 20;

}  // namespace

OutgoingBytes::OutgoingBytes(std::uint64_t transfer, Outgoing cells) : cells_(std::move(cells)), at_hand_(head_) {
  const ChunkHead head{transfer, cells_.bytes() - cells_.bytes_left(), cells_.bytes()};
  std::memcpy(head_.data(), &head, sizeof head);
}

std::span<const std::byte> OutgoingBytes::next() {
  if (!at_hand_.empty() || cells_.is_at_end()) return at_hand_;
  at_hand_ = cells_.in_place(most_in_place);
  if (at_hand_.size() >= std::min(least_in_place, static_cast<std::size_t>(cells_.bytes_left()))) {
    cells_.skip(at_hand_.size());
    return at_hand_;
  }
  if (!gathered_) gathered_ = std::make_unique_for_overwrite<std::byte[]>(chunk_bytes);
  const auto size = std::min(chunk_bytes, static_cast<std::size_t>(cells_.field_bytes_left()));
  at_hand_ = {gathered_.get(), cells_.copy({gathered_.get(), size})};
  return at_hand_;
}

}  // namespace sidestream::couple
