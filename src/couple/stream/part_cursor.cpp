#include "couple/stream/part_cursor.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sidestream/core/error.hpp"

namespace sidestream::couple {

namespace {

// Calls f(cell, count) for pieces of rows of `box`, from its cell `done` on, until `most` cells are done. Returns how
// many were.
template <typename F>
std::int64_t for_each_row_piece(const mesh::Box& box, std::int64_t done, std::int64_t most, F f) {
  const mesh::Int3 n = box.extent();
  most = std::min(most, box.volume() - done);
  for (std::int64_t taken = 0; taken < most;) {
    const std::int64_t at = done + taken;
    const std::int64_t row = at / n.x, x = at % n.x;
    const mesh::Int3 cell{box.lo.x + static_cast<std::int32_t>(x), box.lo.y + static_cast<std::int32_t>(row % n.y),
                          box.lo.z + static_cast<std::int32_t>(row / n.y)};
    const std::int64_t count = std::min(most - taken, n.x - x);
    f(cell, count);
    taken += count;
  }
  return most;
}

bool is_of_whole_planes(const mesh::Box& part, const mesh::Box& block) {
  const bool has_whole_rows = part.lo.x == block.lo.x && part.hi.x == block.hi.x;
  const bool has_whole_planes = has_whole_rows && part.lo.y == block.lo.y && part.hi.y == block.hi.y;
  const mesh::Int3 n = part.extent();
  return has_whole_planes || (has_whole_rows && n.z == 1) || (n.y == 1 && n.z == 1);
}

}  // namespace

Outgoing::Outgoing(std::shared_ptr<const Shelf> shelf, TransferOrder order)
    : shelf_(std::move(shelf)), order_(std::move(order)) {
  for (const Part& part : order_.parts) blocks_.push_back(shelf_->block_of(part));
  field_bytes_left_ = order_.bytes();
  if (order_.has_particles) particle_bytes_left_ = static_cast<std::int64_t>(shelf_->particles().size_bytes());
  bytes_ = bytes_left();
}

// Where the cell `done` of the present part lies.
const double* Outgoing::here(std::int64_t done) const {
  const Shelf::Block& block = blocks_[part_];
  const mesh::Box& part = order_.parts[part_].box;
  const mesh::Int3 n = part.extent();
  const std::int64_t row = done / n.x;
  const mesh::Int3 cell{part.lo.x + static_cast<std::int32_t>(done % n.x),
                        part.lo.y + static_cast<std::int32_t>(row % n.y),
                        part.lo.z + static_cast<std::int32_t>(row / n.y)};
  return shelf_->field(static_cast<std::size_t>(order_.fields[field_])).data() + block.first +
         mesh::linear_index(block.box, cell);
}

bool Outgoing::lies_in_one_piece(std::size_t part) const {
  return is_of_whole_planes(order_.parts[part].box, blocks_[part].box);
}

std::span<const std::byte> Outgoing::in_place(std::size_t most) const {
  if (field_bytes_left_ == 0) {
    const auto words = std::as_bytes(shelf_->particles());
    return words.subspan(words.size() - static_cast<std::size_t>(particle_bytes_left_))
        .first(std::min(most, static_cast<std::size_t>(particle_bytes_left_)));
  }
  if (order_.is_single || !lies_in_one_piece(part_)) return {};
  const double* const begin = here(done_);
  const double* end = here(0) + order_.parts[part_].cells();
  const auto wanted = static_cast<std::ptrdiff_t>(most / sizeof(double));
  for (std::size_t next = part_ + 1; next < order_.parts.size() && end - begin < wanted; ++next) {
    const mesh::Box& box = order_.parts[next].box;
    const std::int64_t first = blocks_[next].first + mesh::linear_index(blocks_[next].box, box.lo);
    const double* const start = shelf_->field(static_cast<std::size_t>(order_.fields[field_])).data() + first;
    if (start != end || !lies_in_one_piece(next)) break;
    end += order_.parts[next].cells();
  }
  return std::as_bytes(std::span(begin, static_cast<std::size_t>(std::min(end - begin, wanted))));
}

void Outgoing::skip(std::size_t bytes) {
  if (field_bytes_left_ == 0)
    particle_bytes_left_ -= static_cast<std::int64_t>(bytes);
  else
    advance(static_cast<std::int64_t>(bytes / sizeof(double)));
}

void Outgoing::skip_to(std::int64_t byte) {
  const auto element = static_cast<std::int64_t>(order_.element_bytes());
  const std::int64_t of_fields = std::min(byte, field_bytes_left_);
  advance(of_fields / element);
  particle_bytes_left_ -= byte - of_fields;
}

void Outgoing::advance(std::int64_t cells) {
  field_bytes_left_ -= cells * static_cast<std::int64_t>(order_.element_bytes());
  done_ += cells;
  while (part_ < order_.parts.size() && done_ >= order_.parts[part_].cells()) {
    done_ -= order_.parts[part_].cells();
    if (++part_ == order_.parts.size() && ++field_ < order_.fields.size()) part_ = 0;
  }
}

std::size_t Outgoing::copy(std::span<std::byte> into) {
  const std::size_t element = order_.element_bytes();
  std::size_t filled = 0;
  while (field_bytes_left_ > 0 && into.size() - filled >= element) {
    const auto room = static_cast<std::int64_t>((into.size() - filled) / element);
    const std::int64_t taken =
        for_each_row_piece(order_.parts[part_].box, done_, room, [&](mesh::Int3 cell, std::int64_t count) {
          const Shelf::Block& block = blocks_[part_];
          const double* const from = shelf_->field(static_cast<std::size_t>(order_.fields[field_])).data() +
                                     block.first + mesh::linear_index(block.box, cell);
          std::byte* const to = into.data() + filled;
          if (order_.is_single) {
            for (std::int64_t i = 0; i < count; ++i) {
              const auto value = static_cast<float>(from[i]);
              std::memcpy(to + i * 4, &value, sizeof value);
            }
          } else {
            std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
          }
          filled += static_cast<std::size_t>(count) * element;
        });
    advance(taken);
  }
  return filled;
}

Incoming::Incoming(TransferOrder order, std::vector<Target> targets)
    : order_(std::move(order)), targets_(std::move(targets)), bytes_left_(order_.bytes()) {
  core::require(targets_.size() == order_.fields.size() * order_.parts.size(), "each part of each field has a target");
}

std::size_t Incoming::take(std::span<const std::byte> bytes) {
  const std::size_t element = order_.element_bytes();
  std::size_t taken = 0;
  while (bytes_left_ > 0 && bytes.size() - taken >= element) {
    const mesh::Box& box = box_of(target_);
    const Target& target = targets_[target_];
    const auto here = static_cast<std::int64_t>((bytes.size() - taken) / element);
    const std::int64_t cells = for_each_row_piece(box, done_, here, [&](mesh::Int3 cell, std::int64_t count) {
      double* const to = &target(cell.z, cell.y, cell.x);
      const std::byte* const from = bytes.data() + taken;
      if (order_.is_single) {
        for (std::int64_t i = 0; i < count; ++i) {
          float value = 0.0F;
          std::memcpy(&value, from + i * 4, sizeof value);
          to[i] = value;
        }
      } else {
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(double));
      }
      taken += static_cast<std::size_t>(count) * element;
    });
    bytes_left_ -= cells * static_cast<std::int64_t>(element);
    done_ += cells;
    if (done_ == box.volume()) done_ = 0, ++target_;
  }
  return taken;
}

void Incoming::add_places(std::vector<std::span<std::byte>>& places, std::size_t most_places,
                          std::size_t most_bytes) const {
  std::int64_t done = done_;
  std::size_t begun = begun_bytes_;
  auto most = static_cast<std::int64_t>(most_bytes / sizeof(double));
  for (std::size_t t = target_; t < targets_.size() && most > 0 && places.size() < most_places; ++t, done = 0) {
    const Target& target = targets_[t];
    const mesh::Int3 n = box_of(t).extent();
    const bool is_one_piece = target.stride_y() == n.x && target.stride_z() == std::int64_t{n.x} * n.y;
    const std::int64_t rows = is_one_piece ? most : static_cast<std::int64_t>(most_places - places.size());
    const std::int64_t here = std::min(most, rows * n.x);
    most -= for_each_row_piece(box_of(t), done, here, [&](mesh::Int3 cell, std::int64_t count) {
      auto* const to = reinterpret_cast<std::byte*>(&target(cell.z, cell.y, cell.x)) + begun;
      const std::size_t size = static_cast<std::size_t>(count) * sizeof(double) - begun;
      begun = 0;
      if (!places.empty() && places.back().data() + places.back().size() == to)
        places.back() = {places.back().data(), places.back().size() + size};
      else
        places.emplace_back(to, size);
    });
    if (done + here < box_of(t).volume()) break;
  }
}

void Incoming::skip(std::size_t bytes) {
  begun_bytes_ += bytes;
  bytes_left_ -= static_cast<std::int64_t>(bytes);
  done_ += static_cast<std::int64_t>(begun_bytes_ / sizeof(double));
  begun_bytes_ %= sizeof(double);
  for (; target_ < targets_.size() && done_ >= box_of(target_).volume(); ++target_) done_ -= box_of(target_).volume();
}

std::int64_t Incoming::begin_again() {
  bytes_left_ += static_cast<std::int64_t>(std::exchange(begun_bytes_, 0));
  return bytes() - bytes_left_;
}

}  // namespace sidestream::couple
