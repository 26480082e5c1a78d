#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "sidestream/core/error.hpp"
#include "sidestream/core/memory.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

/// Components over the boxes of a layout that one rank owns, with `ghost` cells around each box. One allocation, in the
/// order [block][component][z][y][x], x fastest, so a block is an array (component, z, y, x) without a copy. Move-only.
/// `T` is any trivially copyable element: float, double, std::complex, std::int64_t.
template <typename T>
requires std::is_trivially_copyable_v<T>
class Field {
 public:
  Field() = default;

  /// All cells start as T{}.
  Field(Layout layout, int rank, int components = 1, std::int32_t ghost = 0)
      : layout_(std::move(layout)), rank_(rank), components_(components), ghost_(ghost) {
    core::require(components > 0 && ghost >= 0,
                  "a field takes at least one component and no negative number of ghost cells");
    std::size_t total = 0;
    for (const auto index : layout_.boxes_of(rank_)) {
      offset_.push_back(total);
      total += static_cast<std::size_t>(layout_.box(index).grown(ghost_).volume() * components_);
    }
    offset_.push_back(total);
    bytes_ = core::allocate_bytes(total * sizeof(T));
    data_ = reinterpret_cast<T*>(bytes_.get());
    std::uninitialized_fill_n(data_, total, T{});
  }

  const Layout& layout() const { return layout_; }
  int rank() const { return rank_; }
  int components() const { return components_; }
  std::int32_t ghost() const { return ghost_; }

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
    const Box grown = box(b).grown(ghost_);
    const Int3 n = grown.extent();
    return {data + offset(b), grown.lo.x, grown.lo.y, grown.lo.z, n.x, n.y, n.z, components_};
  }

  Layout layout_;
  int rank_ = 0, components_ = 0;
  std::int32_t ghost_ = 0;
  std::vector<std::size_t> offset_;
  core::Bytes bytes_;
  T* data_ = nullptr;
};

}  // namespace sidestream::mesh
