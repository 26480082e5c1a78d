#include "solvers/lbm/gradient_rows.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "solvers/lbm/row_vectors.hpp"

namespace sidestream::solvers {

namespace {

/// The numbers of a few cells: a vector, or one of one.
template <typename V>
[[gnu::always_inline]] inline V loaded(const double* from) {
  if constexpr (std::is_same_v<V, double>)
    return *from;
  else
    return load(from);
}
[[gnu::always_inline]] inline double root(double value) {
  return std::sqrt(value);
}
[[gnu::always_inline]] inline Vector<double> root(Vector<double> values) {
  for (int l = 0; l < VectorOf<double>::lanes; ++l) values[l] = std::sqrt(values[l]);
  return values;
}

/// Central differences at the cells from `first` on.
template <typename V>
struct Gradient {
  const double* first;
  std::ptrdiff_t stride;
  const std::ptrdiff_t* step;

  [[gnu::always_inline]] V operator()(int component, int axis) const {
    const double* const at = first + component * stride;
    return 0.5 * (loaded<V>(at + step[axis]) - loaded<V>(at - step[axis]));
  }
  [[gnu::always_inline]] V curl(int axis) const {
    const int next = (axis + 1) % 3, last = (axis + 2) % 3;
    return (*this)(last, next) - (*this)(next, last);
  }
};

template <int axis>
struct Vorticity {
  template <typename V>
  [[gnu::always_inline]] static V of(const Gradient<V>& gradient) {
    return gradient.curl(axis);
  }
};
struct VorticityMagnitude {
  template <typename V>
  [[gnu::always_inline]] static V of(const Gradient<V>& gradient) {
    const V x = gradient.curl(0), y = gradient.curl(1), z = gradient.curl(2);
    return root((x * x + y * y) + z * z);
  }
};
/// Where nothing changes along z, 2 axes are enough.
template <int axes>
struct SecondInvariant {
  template <typename V>
  [[gnu::always_inline]] static V of(const Gradient<V>& gradient) {
    V sum{};
#pragma GCC unroll 3
    for (int a = 0; a < axes; ++a) {
      const V own = gradient(a, a);
      sum += own * own;
    }
#pragma GCC unroll 3
    for (int a = 0; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b) sum += 2.0 * (gradient(a, b) * gradient(b, a));
    return -0.5 * sum;
  }
};

template <typename Of>
void write_row(const VelocityRow& velocity, int cells, const std::int32_t* barriers, double* to, bool streams) {
  constexpr int lanes = VectorOf<double>::lanes, in_a_line = VectorOf<double>::in_a_line;
  const std::array<std::ptrdiff_t, 3> step = velocity.step;
  const auto gradient = [&]<typename V>(int i) {
    return Of::of(Gradient<V>{velocity.first + i, velocity.stride, step.data()});
  };
  const auto write_cells = [&](int from, int end) {
    for (int i = from; i < end; ++i)
      to[i] = barriers != nullptr && barriers[i] > 0 ? 0.0 : gradient.template operator()<double>(i);
  };
  const int behind = static_cast<int>(reinterpret_cast<std::uintptr_t>(to) % line_bytes / sizeof(double));
  const int first = streams && behind > 0 ? std::min(cells, in_a_line - behind) : 0;
  const int end = first + (cells - first) / in_a_line * in_a_line;
  write_cells(0, first);
  for (int i = first; i < end; i += in_a_line) {
    Vector<double> line[VectorOf<double>::parts];
    for (int part = 0; part < VectorOf<double>::parts; ++part) {
      const int at = i + part * lanes;
      line[part] = gradient.template operator()<Vector<double>>(at);
      if (barriers != nullptr) line[part] = widened(barriers + at) > 0.0 ? Vector<double>{} : line[part];
    }
    put_line(to + i, line, streams);
  }
  write_cells(end, cells);
}

}  // namespace

inline namespace kernels {

void write_gradients(OfGradient what, const VelocityRow& velocity, int cells, const std::int32_t* barriers, double* to,
                     bool streams) {
  switch (what) {
    case OfGradient::vorticity_x:
      return write_row<Vorticity<0>>(velocity, cells, barriers, to, streams);
    case OfGradient::vorticity_y:
      return write_row<Vorticity<1>>(velocity, cells, barriers, to, streams);
    case OfGradient::vorticity_z:
      return write_row<Vorticity<2>>(velocity, cells, barriers, to, streams);
    case OfGradient::vorticity_magnitude:
      return write_row<VorticityMagnitude>(velocity, cells, barriers, to, streams);
    case OfGradient::q_criterion:
      if (velocity.step[2] == 0) return write_row<SecondInvariant<2>>(velocity, cells, barriers, to, streams);
      return write_row<SecondInvariant<3>>(velocity, cells, barriers, to, streams);
  }
}

void finish_gradients() {
  finish_streams();
}

}  // namespace kernels

}  // namespace sidestream::solvers
