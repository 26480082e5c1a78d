#include "couple/in_transit/block_messages.hpp"

#include <cstring>
#include <map>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

Route::Route(std::span<const mesh::Layout> mine, int rank, std::span<const mesh::Layout> theirs, int first_peer) {
  core::require(mine.size() == theirs.size(), "both groups hold the same levels");
  std::map<int, Leg> legs;
  for (std::size_t level = 0; level < mine.size(); ++level) {
    int number = 0;
    for (const std::int32_t index : mine[level].boxes_of(rank)) {
      Leg& leg = legs[theirs[level].owner(index)];
      leg.blocks.push_back({level, number++});
      leg.cells += mine[level].box(index).volume();
    }
  }
  for (auto& [peer, leg] : legs) {
    leg.peer = first_peer + peer;
    cells_ += leg.cells;
    legs_.push_back(std::move(leg));
  }
  for (const mesh::Layout& layout : mine) leg_of_.emplace_back(layout.boxes_of(rank).size());
  for (std::size_t l = 0; l < legs_.size(); ++l)
    for (const auto& [level, number] : legs_[l].blocks)
      leg_of_[level][static_cast<std::size_t>(number)] = static_cast<std::int32_t>(l);
}

std::vector<int> Route::peers() const {
  std::vector<int> peers;
  for (const Leg& leg : legs_) peers.push_back(leg.peer);
  return peers;
}

Cargo Route::cargo(std::size_t fields, std::size_t words_of_particle, std::span<const std::int64_t> particles,
                   BufferPool& pool) const {
  std::vector<Cargo::Size> sizes;
  for (std::size_t l = 0; l < legs_.size(); ++l)
    sizes.push_back({legs_[l].peer, static_cast<std::size_t>(legs_[l].cells) * fields,
                     particles.empty() ? 0 : static_cast<std::size_t>(particles[l]) * words_of_particle});
  return {sizes, pool};
}

void Route::pack(std::span<const Source> fields, const Cargo& cargo) const {
  for (std::size_t l = 0; l < legs_.size(); ++l) {
    Word* next = cargo.messages()[l].fields.data();
    for (const Source& field : fields)
      for (const auto& [level, number] : legs_[l].blocks) {
        const std::span<const double> block = field[level]->block(number);
        std::memcpy(next, block.data(), block.size_bytes());
        next += block.size();
      }
  }
}

void Route::unpack(const Cargo& cargo, std::span<Target> fields) const {
  for (std::size_t l = 0; l < legs_.size(); ++l) {
    const Word* next = cargo.messages()[l].fields.data();
    for (Target& field : fields)
      for (const auto& [level, number] : legs_[l].blocks) {
        const std::span<double> block = field[level].block(number);
        std::memcpy(block.data(), next, block.size_bytes());
        next += block.size();
      }
  }
}

}  // namespace sidestream::couple
