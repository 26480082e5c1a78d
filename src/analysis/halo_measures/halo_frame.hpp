#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/fields/levels.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::analysis {

/// Where the cells of all levels lie relative to the peaks of halos, in cells of the finest level.
class HaloFrame {
 public:
  /// `geometry` is that of level 0 of the field, which must outlive the frame.
  HaloFrame(const LeafField& field, const mesh::Geometry& geometry)
      : field_(field),
        root_(geometry),
        finest_(field.back().layout().domain()),
        finest_geometry_(geometry.refined(finest_level(field))) {
    for (int level = 0; level <= finest_level(field); ++level)
      bits_.push_back(bits_between(finest_, finest_level(field) - level));
  }

  const LeafField& field() const { return field_; }
  const mesh::Geometry& root() const { return root_; }
  const mesh::Geometry& finest() const { return finest_geometry_; }
  int levels() const { return static_cast<int>(field_.size()); }
  /// By how many bits cell indices of `level` and of the finest one differ along each axis.
  mesh::Int3 bits(int level) const { return bits_[static_cast<std::size_t>(level)]; }
  /// Cells of the finest level in one of `level`.
  std::int64_t volume(int level) const {
    const mesh::Int3 b = bits(level);
    return std::int64_t{1} << (b.x + b.y + b.z);
  }
  /// Volume of a cell of `level` in cells of level 0.
  double root_volume(int level) const { return std::ldexp(1.0, -bits_a_level(finest_) * level); }

  /// The cell of the finest level with this linear index.
  mesh::Int3 cell_of(std::int64_t index) const { return cell_at(finest_, index); }

  /// From the corner `from` (of a cell of the finest level) to the lower corner of `cell` of `level`, along an axis. On
  /// periodic axes the nearest image of the cell as counted in its own level, in [-n/2, n/2) cells.
  std::int32_t offset(int axis, int level, std::int32_t from, std::int32_t cell) const {
    const std::int32_t shift = bits(level)[axis], coarse = from >> shift;
    std::int32_t cells = cell - coarse;
    if (root_.periodic[static_cast<std::size_t>(axis)]) {
      const std::int32_t n = (finest_.hi[axis] - finest_.lo[axis]) >> shift;
      if (cells >= n - n / 2) cells -= n;
      if (cells < -(n / 2)) cells += n;
    }
    return ((coarse + cells) << shift) - from;
  }

  /// The same to a position in that cell, in the unit of the geometry.
  std::array<double, 3> offset(int level, mesh::Int3 from, mesh::Int3 cell,
                               const std::array<double, 3>& position) const {
    std::array<double, 3> to{};
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      const std::int32_t image =
          from[axis] + offset(axis, level, from[axis], cell[axis]) - (cell[axis] << bits(level)[axis]);
      to[a] = position[a] - (from[axis] - image) * finest_geometry_.cell_size(axis);  // an image is -n, 0 or n cells
    }
    return to;
  }

  /// The level of the leaf that holds this cell of the finest level.
  int level_of(mesh::Int3 finest_cell) const {
    int level = finest_level(field_);
    const auto has = [&](int l) {
      return field_[static_cast<std::size_t>(l)].layout().find(coarsened(finest_cell, bits(l))) >= 0;
    };
    while (level > 0 && !has(level)) --level;
    return level;
  }

 private:
  const LeafField& field_;
  mesh::Geometry root_;
  mesh::Box finest_;
  mesh::Geometry finest_geometry_;
  std::vector<mesh::Int3> bits_;  // of each level
};

}  // namespace sidestream::analysis
