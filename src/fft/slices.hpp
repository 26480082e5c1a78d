#pragma once

#include <optional>
#include <vector>

#include "fft/pencils.hpp"

namespace sidestream::fft {

/// Some planes of the x- and y-pencils of a rank, on their way between the caller's cells and the lines along z. Slices
/// that are not on their way at once use the same memory.
template <typename Cell>
struct Slice {
  using Mode = typename ModeOf<Cell>::Type;

  int group = 0;  ///< of components: all, or one
  bool begins_group = false, ends_group = false;
  std::optional<redistribute::Redistribution> given_to_x, x_to_given, x_to_y, y_to_x, y_to_z, z_to_y;
  mesh::FieldView<Cell> x_cells;           ///< unless the caller's are in x-pencils
  mesh::FieldView<Mode> x_modes;           ///< in the memory of `x_cells`, row on row
  mesh::FieldView<Mode> y_cells, y_modes;  ///< in the same memory as each other

  void measure(redistribute::MoveTimes* times) {
    for (auto* step : {&given_to_x, &x_to_given, &x_to_y, &y_to_x, &y_to_z, &z_to_y})
      if (*step) (*step)->measure(times);
  }
};

/// The slices of a transform and their memory.
template <typename Cell>
class Slices {
 public:
  using Mode = typename ModeOf<Cell>::Type;

  /// Collective.
  Slices(const comm::Communicator& comm, const Pencils& pencils, const FftOptions& options);

  /// Group by group.
  const std::vector<Slice<Cell>>& all() const { return slices_; }
  std::vector<Slice<Cell>>& all() { return slices_; }
  int groups() const { return groups_; }
  int components_of_group() const { return components_; }
  /// Slices that may be on their way at once: `n` and those up to `n + places() - 1`.
  int places() const { return static_cast<int>(memory_.size()); }
  std::size_t size_bytes() const;

 private:
  struct Memory {
    std::vector<Mode> x, y;
  };

  Memory allocated(const Pencils& pencils, int rank, int count) const;
  Slice<Cell> make(const comm::Communicator& comm, const Pencils& pencils, const FftOptions& options, int index,
                   int count);

  int groups_, components_;
  std::vector<Slice<Cell>> slices_;
  std::vector<Memory> memory_;
};

/// A view of `memory` in which rows along x begin `pitch` elements apart, and in which planes have as many rows and
/// components as many planes as boxes of `full` have. `layout` has one box of the rank at most, inside its box of
/// `full`.
template <typename T>
mesh::FieldView<T> pitched_view(T* memory, const mesh::Layout& layout, const mesh::Layout& full, int rank, int pitch,
                                int components) {
  const auto own = layout.boxes_of(rank);
  if (own.empty()) return {layout, rank, {}, nullptr};
  const mesh::Int3 first = layout.box(own.front()).lo, rows = full.box(full.boxes_of(rank).front()).extent();
  const std::ptrdiff_t stride_y = pitch, stride_z = stride_y * rows.y, stride_component = stride_z * rows.z;
  T* const origin = memory - first.x - first.y * stride_y - first.z * stride_z;
  const core::View4<T> block(origin, stride_y, stride_z, stride_component, components);
  return {layout, rank, {&block, 1}, nullptr};
}

}  // namespace sidestream::fft
