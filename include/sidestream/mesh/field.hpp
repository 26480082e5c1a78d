#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/field_view.hpp"
#include "sidestream/mesh/ghosts.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// Components over the boxes of a layout that one rank owns, with ghost cells around each box. One allocation, in the
/// order [block][component][z][y][x], x fastest, so a block is an array (component, z, y, x) without a copy. Move-only.
/// `T` is any trivially copyable element: float, double, std::complex, std::int64_t.
template <typename T>
requires std::is_trivially_copyable_v<T>
class Field {
 public:
  Field() = default;

  /// All cells start as zero.
  Field(Layout layout, int rank, int components = 1, Ghosts ghost = 0)
      : layout_(std::move(layout)), rank_(rank), components_(components), ghost_(ghost) {
    place_blocks();
    allocate(extent_);
    make_table();
    core::clear(bytes_, extent_ * sizeof(T));
  }

  /// In `memory` that somebody else keeps for as long as the field is used: `size_bytes` or more, aligned for T. No
  /// cell is set.
  Field(Layout layout, int rank, int components, Ghosts ghost, std::span<std::byte> memory)
      : layout_(std::move(layout)), rank_(rank), components_(components), ghost_(ghost) {
    place_blocks();
    core::require(extent_ * sizeof(T) <= memory.size(), "a field is made in memory that is large enough");
    data_ = reinterpret_cast<T*>(memory.data());
    make_table();
  }

  /// `before` on another layout: blocks that this rank owns in both keep their cells, ghost cells included, and their
  /// place in memory; the others take places that are free, with cells that nobody has set. So blocks are no longer in
  /// order, and there may be gaps. All blocks are of one size.
  Field(Layout layout, Field&& before)
      : layout_(std::move(layout)), rank_(before.rank_), components_(before.components_), ghost_(before.ghost_) {
    take_over(before);
    make_table();
    before = {};
  }

  /// What a field takes.
  static std::size_t size_bytes(const Layout& layout, int rank, int components = 1, Ghosts ghost = 0) {
    std::int64_t cells = 0;
    for (const auto index : layout.boxes_of(rank)) cells += layout.box(index).grown(ghost.layers).volume();
    return static_cast<std::size_t>(cells * components) * sizeof(T);
  }

  const Layout& layout() const { return layout_; }
  int rank() const { return rank_; }
  int components() const { return components_; }
  /// Layers of ghost cells along the axes that have any.
  std::int32_t ghost() const { return ghost_.most(); }
  Ghosts ghosts() const { return ghost_; }

  /// Number of boxes here; `b` below counts them in the order of `layout().boxes_of(rank())`.
  int blocks() const { return static_cast<int>(offset_.size()); }
  const Box& box(int b) const { return layout_.box(layout_.boxes_of(rank_)[static_cast<std::size_t>(b)]); }

  core::View4<T> view(int b) { return view_of<T>(b); }
  core::View4<const T> view(int b) const { return view_of<const T>(b); }
  /// Where the blocks lie: as long as the field is not given another layout or value.
  const std::shared_ptr<const BlockTable>& table() const { return table_; }

  /// All cells of block `b`, ghost cells included; the memory of all blocks.
  std::span<T> block(int b) { return {data_ + offset(b), size_of(b)}; }
  std::span<const T> block(int b) const { return {data_ + offset(b), size_of(b)}; }
  std::span<T> all() { return {data_, extent_}; }
  std::span<const T> all() const { return {data_, extent_}; }

 private:
  std::size_t offset(int b) const { return offset_[static_cast<std::size_t>(b)]; }
  std::size_t size_of(int b) const {
    return static_cast<std::size_t>(box(b).grown(ghost_.layers).volume() * components_);
  }
  template <typename U>
  core::View4<U> view_of(int b) const {
    const BlockTable::Block& block = table_->blocks[static_cast<std::size_t>(b)];
    return {static_cast<U*>(block.origin), block.stride_y, block.stride_z, block.stride_component, components_};
  }

  // One block after the other.
  void place_blocks() {
    core::require(components_ > 0 && ghost_.least() >= 0,
                  "a field takes at least one component and no negative number of ghost cells");
    offset_.resize(layout_.boxes_of(rank_).size());
    extent_ = 0;
    for (int b = 0; b < blocks(); ++b) {
      offset_[static_cast<std::size_t>(b)] = extent_;
      extent_ += size_of(b);
    }
  }

  void make_table() {
    BlockTable table{layout_, rank_, components_, ghost_, {}};
    for (int b = 0; b < blocks(); ++b) {
      const Box grown = box(b).grown(ghost_.layers);
      const Int3 n = grown.extent();
      const core::View4<T> view(data_ + offset(b), grown.lo.x, grown.lo.y, grown.lo.z, n.x, n.y, n.z, components_);
      table.blocks.push_back({view.origin(), view.stride_y(), view.stride_z(), view.stride_component()});
    }
    table_ = std::make_shared<const BlockTable>(std::move(table));
  }

  void allocate(std::size_t capacity) {
    bytes_ = core::allocate_bytes(capacity * sizeof(T));
    capacity_ = capacity;
    data_ = reinterpret_cast<T*>(bytes_.get());
  }

  // The block with this box, or -1.
  int find(const Box& box) const {
    const std::int32_t index = layout_.find(box.lo);
    if (index < 0 || layout_.owner(index) != rank_ || layout_.box(index) != box) return -1;
    const auto own = layout_.boxes_of(rank_);
    return static_cast<int>(std::lower_bound(own.begin(), own.end(), index) - own.begin());
  }

  // Memory that is too small grows by half, so that this is seldom; what is not used yet costs nothing.
  void take_over(Field& before) {
    place_blocks();
    if (blocks() == 0) return;
    std::vector<int> kept;
    for (int b = 0; b < blocks(); ++b) {
      core::require(size_of(b) == size_of(0), "fields go over to other layouts in blocks of one size");
      kept.push_back(before.find(box(b)));
    }
    if (!before.bytes_ || before.capacity_ > 4 * extent_) {
      allocate(extent_);
      for (int b = 0; b < blocks(); ++b)
        if (const int old = kept[static_cast<std::size_t>(b)]; old >= 0)
          std::ranges::copy(before.block(old), block(b).begin());
      return;
    }
    bytes_ = std::move(before.bytes_);
    capacity_ = before.capacity_;
    if (extent_ > capacity_) {
      capacity_ = extent_ + extent_ / 2;
      core::grow(bytes_, before.extent_ * sizeof(T), capacity_ * sizeof(T));
    }
    data_ = reinterpret_cast<T*>(bytes_.get());
    keep_places(before, kept);
  }

  void keep_places(const Field& before, const std::vector<int>& kept) {
    const std::size_t size = size_of(0);
    std::vector<bool> is_taken(capacity_ / size);
    for (std::size_t b = 0; b < kept.size(); ++b)
      if (kept[b] >= 0) is_taken[(offset_[b] = before.offset(kept[b])) / size] = true;
    std::size_t place = 0;
    extent_ = 0;
    for (std::size_t b = 0; b < kept.size(); ++b) {
      if (kept[b] < 0) {
        while (is_taken[place]) ++place;
        offset_[b] = place++ * size;
      }
      extent_ = std::max(extent_, offset_[b] + size);
    }
  }

  Layout layout_;
  int rank_ = 0, components_ = 0;
  Ghosts ghost_ = 0;
  std::vector<std::size_t> offset_;
  std::size_t extent_ = 0;    // elements up to the end of the last block in memory
  std::size_t capacity_ = 0;  // elements that `bytes_` holds
  core::Bytes bytes_;
  T* data_ = nullptr;
  std::shared_ptr<const BlockTable> table_;
};

}  // namespace sidestream::mesh
