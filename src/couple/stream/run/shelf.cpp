#include "couple/stream/run/shelf.hpp"

#include <algorithm>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

Shelf::Shelf(std::vector<mesh::Layout> levels, int rank, std::size_t fields, Cargo cargo)
    : levels_(std::move(levels)), rank_(rank), fields_(fields), cargo_(std::move(cargo)) {
  for (const mesh::Layout& layout : levels_) {
    std::vector<std::int64_t>& first = first_.emplace_back();
    for (const std::int32_t index : layout.boxes_of(rank)) {
      first.push_back(cells_);
      cells_ += layout.box(index).volume();
    }
  }
}

bool Shelf::has(const Part& part) const {
  if (part.level < 0 || part.level >= std::ssize(levels_) || part.box.is_empty()) return false;
  const mesh::Layout& layout = levels_[static_cast<std::size_t>(part.level)];
  if (!layout.domain().contains(part.box)) return false;
  const std::int32_t index = layout.find(part.box.lo);
  return index >= 0 && layout.owner(index) == rank_ && layout.box(index).contains(part.box);
}

Shelf::Block Shelf::block_of(const Part& part) const {
  const auto level = static_cast<std::size_t>(part.level);
  const std::int32_t index = levels_[level].find(part.box.lo);
  const std::span<const std::int32_t> here = levels_[level].boxes_of(rank_);
  const auto number = std::ranges::lower_bound(here, index) - here.begin();
  return {levels_[level].box(index), first_[level][static_cast<std::size_t>(number)]};
}

std::span<const double> Shelf::field(std::size_t number) const {
  if (cargo_.messages().empty()) return {};
  const auto* all = reinterpret_cast<const double*>(cargo_.messages().front().fields.data());
  return {all + static_cast<std::int64_t>(number) * cells_, static_cast<std::size_t>(cells_)};
}

std::span<const Word> Shelf::particles() const {
  return cargo_.messages().empty() ? std::span<const Word>() : cargo_.messages().front().particles;
}

void Shelf::load() {
  cargo_.load(fresh_);
}

}  // namespace sidestream::couple
