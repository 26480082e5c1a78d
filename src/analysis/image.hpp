#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::analysis {

/// The plane of a picture across one axis: its columns run along `horizontal`, its rows along `vertical`.
struct ImagePlane {
  int axis = 2, horizontal = 0, vertical = 1;
  mesh::Box domain;

  /// Across the axis called "x", "y" or "z": the other two in the order x, y, z.
  ImagePlane(const std::string& name, const mesh::Box& cells)
      : axis(name[0] - 'x'), horizontal(axis == 0 ? 1 : 0), vertical(axis == 2 ? 1 : 2), domain(cells) {}

  std::int32_t columns() const { return domain.extent()[horizontal]; }
  std::int32_t rows() const { return domain.extent()[vertical]; }
  std::int64_t pixels() const { return std::int64_t{columns()} * rows(); }
  std::int32_t column_of(mesh::Int3 cell) const { return cell[horizontal] - domain.lo[horizontal]; }
  std::int32_t row_of(mesh::Int3 cell) const { return cell[vertical] - domain.lo[vertical]; }
};

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

/// Adds the coordinates of a picture's pixels: `y` for its rows and `x` for its columns, and which axes these are.
void add_axes(mesh::Result& result, const ImagePlane& plane, const mesh::Geometry& geometry);

}  // namespace sidestream::analysis
