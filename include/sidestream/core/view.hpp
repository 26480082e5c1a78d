#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sidestream::core {

/// A view of a four-dimensional array (component, z, y, x), x fastest, that is indexed by the **global** cell index.
/// Passed by value into kernels; owns nothing.
template <typename T>
class View4 {
 public:
  View4() = default;

  /// `data` is the cell (`z0`, `y0`, `x0`) of component 0 in an array of `nz` * `ny` * `nx` cells a component.
  View4(T* data, int x0, int y0, int z0, int nx, int ny, int nz, int components)
      : stride_y_(nx),
        stride_z_(static_cast<std::ptrdiff_t>(nx) * ny),
        stride_component_(stride_z_ * nz),
        origin_(data - x0 - y0 * stride_y_ - z0 * stride_z_),
        components_(components) {}

  /// `origin` is where the cell (0, 0, 0) of component 0 would be; the strides are in elements.
  View4(T* origin, std::ptrdiff_t stride_y, std::ptrdiff_t stride_z, std::ptrdiff_t stride_component, int components)
      : stride_y_(stride_y),
        stride_z_(stride_z),
        stride_component_(stride_component),
        origin_(origin),
        components_(components) {}

  template <typename U>
  requires(std::is_same_v<const U, T> && !std::is_const_v<U>) View4(const View4<U>& other)
      : stride_y_(other.stride_y()),
        stride_z_(other.stride_z()),
        stride_component_(other.stride_component()),
        origin_(other.origin()),
        components_(other.components()) {}

  T& operator()(int component, int k, int j, int i) const {
    return origin_[component * stride_component_ + k * stride_z_ + j * stride_y_ + i];
  }
  T& operator()(int k, int j, int i) const { return origin_[k * stride_z_ + j * stride_y_ + i]; }

  /// One component alone.
  View4 component(int c) const { return {origin_ + c * stride_component_, stride_y_, stride_z_, stride_component_, 1}; }

  int components() const { return components_; }
  std::ptrdiff_t stride_y() const { return stride_y_; }
  std::ptrdiff_t stride_z() const { return stride_z_; }
  std::ptrdiff_t stride_component() const { return stride_component_; }
  T* origin() const { return origin_; }

 private:
  std::ptrdiff_t stride_y_ = 0, stride_z_ = 0, stride_component_ = 0;
  T* origin_ = nullptr;
  int components_ = 0;
};

}  // namespace sidestream::core
