#pragma once

#include "fft/pencils.hpp"
#include "fft/rows.hpp"

namespace sidestream::fft {

/// The lines of the pencils of a rank, of which it has one box at each stage: with the buffers of one thread.
template <typename Cell>
class PencilLines {
 public:
  using Mode = typename ModeOf<Cell>::Type;
  using Modes = mesh::FieldView<Mode>;

  explicit PencilLines(const Pencils& pencils)
      : x_(pencils.cells.x, pencils.x_modes.domain().hi.x),
        y_(pencils.cells.y, pencils.waves.y),
        z_(pencils.cells.z, pencils.waves.z) {}

  /// Lines along x of plane k.
  void forward_rows(const mesh::FieldView<const Cell>& from, const Modes& to, int component, int k) {
    const mesh::Box& box = to.box(0);
    const auto in = from.view(0);
    const auto out = to.view(0);
    x_.forward(&in(component, k, box.lo.y, 0), in.stride_y(), &out(component, k, box.lo.y, 0), out.stride_y(),
               box.extent().y);
  }
  void backward_rows(const Modes& from, const mesh::FieldView<Cell>& to, int component, int k) {
    const mesh::Box& box = from.box(0);
    const auto in = from.view(0);
    const auto out = to.view(0);
    x_.backward(&in(component, k, box.lo.y, 0), in.stride_y(), &out(component, k, box.lo.y, 0), out.stride_y(),
                box.extent().y);
  }

  /// Lines along y of plane k.
  void forward_plane(const Modes& from, const Modes& to, int component, int k) {
    const mesh::Box& box = from.box(0);
    const auto in = from.view(0), out = to.view(0);
    y_.forward(&in(component, k, 0, box.lo.x), in.stride_y(), &out(component, k, 0, box.lo.x), out.stride_y(),
               box.extent().x);
  }
  void backward_plane(const Modes& from, const Modes& to, int component, int k) {
    const mesh::Box& box = to.box(0);
    const auto in = from.view(0), out = to.view(0);
    y_.backward(&in(component, k, 0, box.lo.x), in.stride_y(), &out(component, k, 0, box.lo.x), out.stride_y(),
                box.extent().x);
  }

  /// Lines along z.
  ComplexLines<typename RowsOf<Cell>::Number>& columns() { return z_; }

 private:
  typename RowsOf<Cell>::Type x_;
  ComplexLines<typename RowsOf<Cell>::Number> y_, z_;
};

}  // namespace sidestream::fft
