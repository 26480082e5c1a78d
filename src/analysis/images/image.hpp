#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/fields/levels.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// The plane of a picture across one axis: its columns run along `horizontal`, its rows along `vertical`. Its pixels
/// are cells of one level.
struct ImagePlane {
  int axis = 2, horizontal = 0, vertical = 1, level = 0;
  mesh::Box domain;  ///< of that level

  /// Across the axis called "x", "y" or "z": the other two in the order x, y, z. `root` is the domain of level 0.
  ImagePlane(const std::string& name, const mesh::Box& root, int its_level)
      : axis(name[0] - 'x'),
        horizontal(axis == 0 ? 1 : 0),
        vertical(axis == 2 ? 1 : 2),
        level(its_level),
        domain(refined(root, bits_between(root, its_level))) {}

  std::int32_t columns() const { return domain.extent()[horizontal]; }
  std::int32_t rows() const { return domain.extent()[vertical]; }
  std::int64_t pixels() const { return std::int64_t{columns()} * rows(); }

  /// By how many bits cell indices of `leaf_level` are finer than those of pixels, or coarser; no less than none.
  mesh::Int3 bits_finer(int leaf_level) const { return bits_between(domain, std::max(0, leaf_level - level)); }
  mesh::Int3 bits_coarser(int leaf_level) const { return bits_between(domain, std::max(0, level - leaf_level)); }
  /// By how many bits the cells of `leaf_level` in a pixel are counted.
  int bits_of_pixel(int leaf_level) const {
    const mesh::Int3 bits = bits_finer(leaf_level);
    return bits[horizontal] + bits[vertical];
  }

  /// Calls `f(row, column)` for each pixel that `cell` of a grid `bits` coarser than that of the pixels covers.
  template <typename F>
  void for_each_pixel(mesh::Int3 cell, mesh::Int3 bits, F f) const {
    const mesh::Box pixels = refined(mesh::Box{cell, cell + mesh::Int3{1, 1, 1}}, bits);
    for (std::int32_t row = pixels.lo[vertical]; row < pixels.hi[vertical]; ++row)
      for (std::int32_t column = pixels.lo[horizontal]; column < pixels.hi[horizontal]; ++column)
        f(row - domain.lo[vertical], column - domain.lo[horizontal]);
  }
};

/// The plane of a picture of a snapshot: with pixels of `level`, or, if that is negative, of the finest level at which
/// neither side has more than 2048 of them (level 0 at least). Throws core::Error as below.
ImagePlane plane_of(const mesh::Snapshot& snapshot, const std::string& axis, std::int64_t level);
/// Throws core::Error when a level above 0 would take more than 10^9 pixels.
void check_plane(const mesh::Box& root, const std::string& axis, std::int64_t level);

/// A rank's contribution to one pixel.
template <typename T>
struct Pixel {
  std::int32_t row = 0, column = 0;
  T value{};
};

/// Combines the contributions to each pixel by `combine(value, value)`, which must not care about order; pixels without
/// any are `initial`. The picture, row by row, on rank 0, empty elsewhere. Collective; each rank puts a strip of the
/// picture together.
template <typename T, typename Combine>
std::vector<T> assemble(const comm::Communicator& comm, const ImagePlane& plane, const std::vector<Pixel<T>>& pixels,
                        T initial, Combine combine) {
  const std::int32_t per_rank = (plane.rows() + comm.size() - 1) / comm.size();
  std::vector<std::vector<Pixel<T>>> outgoing(static_cast<std::size_t>(comm.size()));
  for (const Pixel<T>& pixel : pixels) outgoing[static_cast<std::size_t>(pixel.row / per_rank)].push_back(pixel);

  const std::int32_t first = std::min(plane.rows(), comm.rank() * per_rank),
                     last = std::min(plane.rows(), first + per_rank);
  std::vector<T> strip(static_cast<std::size_t>(last - first) * static_cast<std::size_t>(plane.columns()), initial);
  for (const auto& of_rank : comm.exchange(outgoing))
    for (const Pixel<T>& pixel : of_rank) {
      T& value = strip[static_cast<std::size_t>(pixel.row - first) * static_cast<std::size_t>(plane.columns()) +
                       static_cast<std::size_t>(pixel.column)];
      value = combine(value, pixel.value);
    }
  return comm.gather(std::span<const T>(strip));
}

/// Adds the coordinates of a picture's pixels, `y` for its rows and `x` for its columns; which axes and which level
/// these are of.
void add_axes(mesh::Result& result, const ImagePlane& plane, const mesh::Snapshot& snapshot);

/// The pictures of fields of a snapshot in a plane, with its axes. `draw(result, name, field)` adds that of a field to
/// the result of rank 0; it is called, collectively, on every rank. Collective.
template <typename Draw>
mesh::Result pictures_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const ImagePlane& plane,
                         const std::vector<std::string>& fields, Draw draw) {
  mesh::Result result;
  if (comm.rank() == 0) add_axes(result, plane, snapshot);
  for (const std::string& name : fields) draw(result, name, field_or_total(snapshot, name));
  if (comm.rank() == 0)
    result.summary = std::to_string(plane.columns()) + " x " + std::to_string(plane.rows()) + " pixels";
  return result;
}

}  // namespace sidestream::analysis
