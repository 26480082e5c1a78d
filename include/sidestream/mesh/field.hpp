#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "sidestream/core/error.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// How many layers of ghost cells boxes have along each axis. A number means as many along all.
struct Ghosts {
  Int3 layers;

  Ghosts(std::int32_t everywhere) : layers{everywhere, everywhere, everywhere} {}  // NOLINT: as good as a number
  explicit Ghosts(Int3 of_axis) : layers(of_axis) {}

  std::int32_t most() const { return std::max({layers.x, layers.y, layers.z}); }
  std::int32_t least() const { return std::min({layers.x, layers.y, layers.z}); }
  bool has_at_least(const Ghosts& other) const {
    return layers.x >= other.layers.x && layers.y >= other.layers.y && layers.z >= other.layers.z;
  }
};

/// So many layers along the axes on which `domain` has more than one cell, for what never looks along flat axes.
inline Ghosts ghosts_of_active_axes(const Box& domain, std::int32_t layers) {
  const Int3 n = domain.extent();
  return Ghosts(Int3{n.x > 1 ? layers : 0, n.y > 1 ? layers : 0, n.z > 1 ? layers : 0});
}

/// Components over the boxes of a layout that one rank owns, with ghost cells around each box. One allocation, in the
/// order [block][component][z][y][x], x fastest, so a block is an array (component, z, y, x) without a copy. Move-only.
/// `T` is any trivially copyable element: float, double, std::complex, std::int64_t.
template <typename T>
requires std::is_trivially_copyable_v<T>
class Field {
 public:
  Field() = default;

  /// All cells start as T{}.
  Field(Layout layout, int rank, int components = 1, Ghosts ghost = 0)
      : Field(std::move(layout), rank, components, ghost, Field()) {
    std::uninitialized_fill_n(data_, offset_.back(), T{});
  }

  /// In the memory of `spare`, which is then empty, if that is enough and not more than twice as much: taking pages
  /// from the system costs more than writing to them. No cell is set.
  Field(Layout layout, int rank, int components, Ghosts ghost, Field&& spare)
      : layout_(std::move(layout)), rank_(rank), components_(components), ghost_(ghost) {
    core::require(components > 0 && ghost.least() >= 0,
                  "a field takes at least one component and no negative number of ghost cells");
    std::size_t total = 0;
    for (const auto index : layout_.boxes_of(rank_)) {
      offset_.push_back(total);
      total += static_cast<std::size_t>(layout_.box(index).grown(ghost_.layers).volume() * components_);
    }
    offset_.push_back(total);
    if (total <= spare.capacity_ && spare.capacity_ <= 2 * total) {
      bytes_ = std::move(spare.bytes_);
      capacity_ = spare.capacity_;
      spare = {};
    } else {
      capacity_ = total;
      bytes_ = core::allocate_bytes(capacity_ * sizeof(T));
    }
    data_ = reinterpret_cast<T*>(bytes_.get());
  }
  /// How many elements its memory holds.
  std::size_t capacity() const { return capacity_; }

  const Layout& layout() const { return layout_; }
  int rank() const { return rank_; }
  int components() const { return components_; }
  /// Layers of ghost cells along the axes that have any.
  std::int32_t ghost() const { return ghost_.most(); }
  Ghosts ghosts() const { return ghost_; }

  /// Number of boxes here; `b` below counts them in the order of `layout().boxes_of(rank())`.
  int blocks() const { return static_cast<int>(offset_.empty() ? 0 : offset_.size() - 1); }
  const Box& box(int b) const { return layout_.box(layout_.boxes_of(rank_)[static_cast<std::size_t>(b)]); }

  core::View4<T> view(int b) { return view_of<T>(b, data_); }
  core::View4<const T> view(int b) const { return view_of<const T>(b, data_); }

  /// All cells of block `b`, ghost cells included; of all blocks.
  std::span<T> block(int b) { return {data_ + offset(b), offset(b + 1) - offset(b)}; }
  std::span<const T> block(int b) const { return {data_ + offset(b), offset(b + 1) - offset(b)}; }
  std::span<T> all() { return {data_, offset_.empty() ? 0 : offset_.back()}; }
  std::span<const T> all() const { return {data_, offset_.empty() ? 0 : offset_.back()}; }

 private:
  std::size_t offset(int b) const { return offset_[static_cast<std::size_t>(b)]; }
  template <typename U>
  core::View4<U> view_of(int b, T* data) const {
    const Box grown = box(b).grown(ghost_.layers);
    const Int3 n = grown.extent();
    return {data + offset(b), grown.lo.x, grown.lo.y, grown.lo.z, n.x, n.y, n.z, components_};
  }

  Layout layout_;
  int rank_ = 0, components_ = 0;
  Ghosts ghost_ = 0;
  std::vector<std::size_t> offset_;
  std::size_t capacity_ = 0;  // elements that the memory holds
  core::Bytes bytes_;
  T* data_ = nullptr;
};

}  // namespace sidestream::mesh
