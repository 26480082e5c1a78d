#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/ghosts.hpp"
#include "sidestream/mesh/layout.hpp"

namespace sidestream::mesh {

template <typename T>
requires std::is_trivially_copyable_v<T>
class Field;

/// Where the cells of one rank lie in memory, whatever their type: for each of its boxes the place where the cell (0,
/// 0, 0) of component 0 would be, and the strides in elements.
struct BlockTable {
  struct Block {
    void* origin = nullptr;
    std::ptrdiff_t stride_y = 0, stride_z = 0, stride_component = 0;
    std::ptrdiff_t stride_x = 1;
  };

  Layout layout;
  int rank = 0, components = 0;
  Ghosts ghosts = 0;
  std::vector<Block> blocks;

  const Box& box(int b) const { return layout.box(layout.boxes_of(rank)[static_cast<std::size_t>(b)]); }
  /// Whether cells lie one after the other along x, as all who compute with them want it.
  bool has_rows() const;
  /// The block on `box`; throws core::Error when there is none.
  int block_on(const Box& box) const;
};

/// The table of what has no blocks.
inline const BlockTable& no_blocks() {
  static const BlockTable none;
  return none;
}

/// The part of `table` on `layout`, whose boxes of this rank are boxes of the table's; throws core::Error when one is
/// not.
BlockTable part_of(const BlockTable& table, const Layout& layout);

/// Cells of a layout that one rank has in memory, whoever owns that memory and however it is strided: a `Field`, the
/// arrays of another code, a message, a mapped file. What everybody who reads or writes cells takes. As cheap to copy
/// as a shared pointer. A view made from a shared pointer keeps the memory alive; others must not outlive it.
template <typename T>
class FieldView {
 public:
  using Element = std::remove_const_t<T>;

  FieldView() = default;
  explicit FieldView(std::shared_ptr<const BlockTable> table) : table_(std::move(table)) {
    core::require(!table_ || table_->has_rows(), "the cells of a view lie one after the other along x");
  }
  /// Of cells that lie where `blocks` say, one for each box of `rank` and in their order. `memory` is kept as long as
  /// the view.
  FieldView(const Layout& layout, int rank, std::span<const core::View4<T>> blocks, std::shared_ptr<const void> memory,
            Ghosts ghosts = 0) {
    core::require(blocks.size() == layout.boxes_of(rank).size(), "a view has as many blocks as its rank has boxes");
    BlockTable table{layout, rank, blocks.empty() ? 1 : blocks.front().components(), ghosts, {}};
    for (const core::View4<T>& block : blocks)
      table.blocks.push_back(
          {const_cast<Element*>(block.origin()), block.stride_y(), block.stride_z(), block.stride_component()});
    *this = kept_with(std::move(table), std::move(memory));
  }
  FieldView(Field<T>& field) requires(!std::is_const_v<T>) : table_(field.table()) {}  // NOLINT: as good as one
  FieldView(const Field<Element>& field) requires std::is_const_v<T> : table_(field.table()) {}  // NOLINT
  template <typename U>
  requires(std::is_const_v<T>&& std::is_same_v<U, Element>) FieldView(const FieldView<U>& other)  // NOLINT
      : table_(other.table()) {}
  template <typename F>
  requires(std::is_const_v<T>&& std::is_same_v<std::remove_const_t<F>, Field<Element>>)
      FieldView(std::shared_ptr<F> field)  // NOLINT
      : table_(field, field->table().get()) {}

  const Layout& layout() const { return known().layout; }
  int rank() const { return known().rank; }
  int components() const { return known().components; }
  /// Layers of ghost cells along the axes that have any.
  std::int32_t ghost() const { return known().ghosts.most(); }
  Ghosts ghosts() const { return known().ghosts; }

  /// Number of boxes here; `b` below counts them in the order of `layout().boxes_of(rank())`.
  int blocks() const { return static_cast<int>(known().blocks.size()); }
  const Box& box(int b) const { return known().box(b); }
  core::View4<T> view(int b) const {
    const BlockTable::Block& block = known().blocks[static_cast<std::size_t>(b)];
    return {static_cast<T*>(block.origin), block.stride_y, block.stride_z, block.stride_component, components()};
  }

  /// The cells of the block on `box`, which is one of this rank's.
  core::View4<T> view_on(const Box& box) const { return view(known().block_on(box)); }

  /// The blocks on `layout`, whose boxes of this rank are among those of this view's.
  FieldView on(const Layout& layout) const { return kept_with(part_of(known(), layout), table_); }
  /// `count` components from `first` on.
  FieldView component(int first, int count = 1) const {
    core::require(first >= 0 && count >= 1 && first + count <= components(), "a view has no such components");
    BlockTable part = known();
    part.components = count;
    for (BlockTable::Block& block : part.blocks)
      block.origin = static_cast<Element*>(block.origin) + first * block.stride_component;
    return kept_with(std::move(part), table_);
  }

  const std::shared_ptr<const BlockTable>& table() const { return table_; }

 private:
  struct Kept {
    BlockTable table;
    std::shared_ptr<const void> memory;
  };

  const BlockTable& known() const { return table_ ? *table_ : no_blocks(); }
  static FieldView kept_with(BlockTable table, std::shared_ptr<const void> memory) {
    const auto both = std::make_shared<const Kept>(Kept{std::move(table), std::move(memory)});
    return FieldView(std::shared_ptr<const BlockTable>(both, &both->table));
  }

  std::shared_ptr<const BlockTable> table_;
};

}  // namespace sidestream::mesh
