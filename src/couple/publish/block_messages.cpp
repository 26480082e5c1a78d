#include "couple/publish/block_messages.hpp"

#include <map>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

// The cells of `box` one after the other.
template <typename T>
core::View4<T> packed_block(T* first, const mesh::Box& box) {
  const mesh::Int3 n = box.extent();
  return {first, box.lo.x, box.lo.y, box.lo.z, n.x, n.y, n.z, 1};
}

}  // namespace

Route::Route(std::span<const mesh::Layout> mine, int rank, std::span<const mesh::Layout> theirs, int first_peer,
             const std::vector<bool>& sharers)
    : layouts_(mine.begin(), mine.end()), rank_(rank) {
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
    leg.is_lent = !sharers.empty() && sharers[static_cast<std::size_t>(leg.peer)];
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

Cargo Route::cargo(std::size_t fields, std::span<const std::int64_t> particle_words) const {
  core::require(particle_words.empty() || particle_words.size() == legs_.size(), "words of particles for each leg");
  std::vector<Cargo::Size> sizes;
  for (std::size_t l = 0; l < legs_.size(); ++l)
    sizes.push_back({legs_[l].peer, static_cast<std::size_t>(legs_[l].cells) * fields,
                     particle_words.empty() ? 0 : static_cast<std::size_t>(particle_words[l]), legs_[l].is_lent});
  return Cargo(sizes);
}

void Route::pack(std::size_t fields, const Write& write, const Cargo& cargo) const {
  for (std::size_t l = 0; l < legs_.size(); ++l) {
    auto* next = reinterpret_cast<double*>(cargo.messages()[l].fields.data());
    for (std::size_t field = 0; field < fields; ++field)
      for (const auto& [level, number] : legs_[l].blocks) {
        const mesh::Box& box = box_of(level, number);
        write(field, level, box, packed_block(next, box));
        next += box.volume();
      }
  }
}

template <typename T>
std::vector<mesh::FieldView<T>> Route::views_of(const Cargo& cargo, std::size_t number,
                                                const std::shared_ptr<const void>& memory) const {
  std::vector<std::vector<core::View4<T>>> blocks;
  for (const auto& legs : leg_of_) blocks.emplace_back(legs.size());
  for (std::size_t l = 0; l < legs_.size(); ++l) {
    auto* next =
        reinterpret_cast<T*>(cargo.messages()[l].fields.data()) + number * static_cast<std::size_t>(legs_[l].cells);
    for (const auto& [level, block] : legs_[l].blocks) {
      blocks[level][static_cast<std::size_t>(block)] = packed_block(next, box_of(level, block));
      next += box_of(level, block).volume();
    }
  }
  std::vector<mesh::FieldView<T>> views;
  for (std::size_t level = 0; level < layouts_.size(); ++level)
    views.emplace_back(layouts_[level], rank_, blocks[level], memory);
  return views;
}

std::vector<mesh::FieldView<const double>> Route::views(const std::shared_ptr<const Cargo>& cargo,
                                                        std::size_t number) const {
  return views_of<const double>(*cargo, number, cargo);
}

std::vector<mesh::FieldView<double>> Route::writable_views(const Cargo& cargo, std::size_t number) const {
  return views_of<double>(cargo, number, nullptr);
}

const mesh::Box& Route::box_of(std::size_t level, int block) const {
  const mesh::Layout& layout = layouts_[level];
  return layout.box(layout.boxes_of(rank_)[static_cast<std::size_t>(block)]);
}

}  // namespace sidestream::couple
