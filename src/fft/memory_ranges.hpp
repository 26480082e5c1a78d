#pragma once

#include <algorithm>
#include <cstdint>

#include "sidestream/mesh/field_view.hpp"

// Which memory fields take, by the addresses of their first and last numbers: what lies between counts as theirs.
namespace sidestream::fft {

struct MemoryRange {
  std::uintptr_t begin = UINTPTR_MAX, end = 0;

  bool overlaps(const MemoryRange& other) const { return begin < other.end && other.begin < end; }
  MemoryRange with(const MemoryRange& other) const { return {std::min(begin, other.begin), std::max(end, other.end)}; }
};

/// Of the cells of block `b`, without its ghost cells.
template <typename T>
MemoryRange range_of(const mesh::FieldView<T>& field, int b) {
  const mesh::Box& box = field.box(b);
  if (box.is_empty()) return {};
  const auto view = field.view(b);
  const mesh::Int3 n = box.extent();
  const T* first = &view(0, box.lo.z, box.lo.y, box.lo.x);
  const T* last = first + n.x;
  for (const std::ptrdiff_t reach :
       {view.stride_y() * (n.y - 1), view.stride_z() * (n.z - 1), view.stride_component() * (field.components() - 1)})
    (reach < 0 ? first : last) += reach;
  return {reinterpret_cast<std::uintptr_t>(first), reinterpret_cast<std::uintptr_t>(last)};
}

/// Whether any two of their blocks overlap. Local.
template <typename A, typename B>
bool overlap(const mesh::FieldView<A>& a, const mesh::FieldView<B>& b) {
  MemoryRange whole_a, whole_b;
  for (int i = 0; i < a.blocks(); ++i) whole_a = whole_a.with(range_of(a, i));
  for (int j = 0; j < b.blocks(); ++j) whole_b = whole_b.with(range_of(b, j));
  if (!whole_a.overlaps(whole_b)) return false;
  for (int i = 0; i < a.blocks(); ++i)
    for (int j = 0; j < b.blocks(); ++j)
      if (range_of(a, i).overlaps(range_of(b, j))) return true;
  return false;
}

/// Whether plane k of the one block of each begins at the same address, for all k and components, and ends before the
/// next one.
template <typename A, typename B>
bool have_same_planes(const mesh::FieldView<A>& a, const mesh::FieldView<B>& b) {
  const auto on_a = a.view(0);
  const auto on_b = b.view(0);
  const mesh::Int3 n = a.box(0).extent();
  const auto address = [](const auto& field, const auto& view, int component, int k) {
    const mesh::Int3 lo = field.box(0).lo;
    return reinterpret_cast<std::uintptr_t>(&view(component, lo.z + k, lo.y, lo.x));
  };
  const auto holds_a_plane = [&](const auto& field, const auto& view) {
    return view.stride_y() >= field.box(0).extent().x && view.stride_z() >= view.stride_y() * n.y;
  };
  if (!holds_a_plane(a, on_a) || !holds_a_plane(b, on_b)) return false;
  for (int component = 0; component < a.components(); ++component)
    for (const int k : {0, n.z - 1})
      if (address(a, on_a, component, k) != address(b, on_b, component, k)) return false;
  return a.components() == 1 || on_a.stride_component() >= on_a.stride_z() * n.z;
}

}  // namespace sidestream::fft
