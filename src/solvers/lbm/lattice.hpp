#pragma once

#include <array>
#include <type_traits>
#include <utility>

namespace sidestream::solvers {

/// The velocities of a lattice, in cells a step, and their weights; sound travels at 1/sqrt(3). Direction 0 is at rest;
/// 2p + 1 is that of the pair p, 2p + 2 its opposite. Sums over pairs are taken in an order in which mirror images of
/// a flow give the same bits. Qian, d'Humieres & Lallemand (1992), Europhys. Lett. 17, 479.
struct D2Q9 {
  static constexpr int axes = 2, pairs = 4, directions = 2 * pairs + 1, moments = 3;
  static constexpr std::array<std::array<int, 3>, pairs> forward{{{1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {1, -1, 0}}};
  static constexpr double rest = 4.0 / 9.0;
  static constexpr std::array<double, pairs> weight{1.0 / 9.0, 1.0 / 9.0, 1.0 / 36.0, 1.0 / 36.0};

  template <typename V>
  static V sum(const V* even) {
    return (even[0] + even[1]) + (even[2] + even[3]);
  }
  /// sum_p c odd[p]
  template <typename V>
  static void first(const V* odd, V* along) {
    along[0] = odd[0] + (odd[2] + odd[3]);
    along[1] = odd[1] + (odd[2] - odd[3]);
  }
  /// sum_p c c even[p]: xx, yy, xy.
  template <typename V>
  static void second(const V* even, V* tensor) {
    const V diagonal = even[2] + even[3];
    tensor[0] = even[0] + diagonal;
    tensor[1] = even[1] + diagonal;
    tensor[2] = even[2] - even[3];
  }
  /// c c : T of each pair.
  template <typename V>
  static void contract(const V* tensor, V* of_pair) {
    const V trace = tensor[0] + tensor[1], twice = tensor[2] + tensor[2];
    of_pair[0] = tensor[0];
    of_pair[1] = tensor[1];
    of_pair[2] = trace + twice;
    of_pair[3] = trace - twice;
  }
  template <typename V>
  static V square(const V* u) {
    return u[0] * u[0] + u[1] * u[1];
  }
  template <typename V>
  static V trace(const V* tensor) {
    return tensor[0] + tensor[1];
  }
  /// The place of T_ab in a tensor, for a < b.
  static constexpr int place(int, int) { return 2; }
};

struct D3Q19 {
  static constexpr int axes = 3, pairs = 9, directions = 2 * pairs + 1, moments = 6;
  static constexpr std::array<std::array<int, 3>, pairs> forward{
      {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, -1, 0}, {1, 0, 1}, {1, 0, -1}, {0, 1, 1}, {0, 1, -1}}};
  static constexpr double rest = 1.0 / 3.0;
  static constexpr std::array<double, pairs> weight{1.0 / 18.0, 1.0 / 18.0, 1.0 / 18.0, 1.0 / 36.0, 1.0 / 36.0,
                                                    1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0, 1.0 / 36.0};

  template <typename V>
  static V sum(const V* even) {
    return ((even[0] + even[1]) + even[2]) + (((even[3] + even[4]) + (even[5] + even[6])) + (even[7] + even[8]));
  }
  template <typename V>
  static void first(const V* odd, V* along) {
    along[0] = odd[0] + ((odd[3] + odd[4]) + (odd[5] + odd[6]));
    along[1] = odd[1] + ((odd[3] - odd[4]) + (odd[7] + odd[8]));
    along[2] = odd[2] + ((odd[5] - odd[6]) + (odd[7] - odd[8]));
  }
  /// sum_p c c even[p]: xx, yy, zz, xy, xz, yz.
  template <typename V>
  static void second(const V* even, V* tensor) {
    const V xy = even[3] + even[4], xz = even[5] + even[6], yz = even[7] + even[8];
    tensor[0] = even[0] + (xy + xz);
    tensor[1] = even[1] + (xy + yz);
    tensor[2] = even[2] + (xz + yz);
    tensor[3] = even[3] - even[4];
    tensor[4] = even[5] - even[6];
    tensor[5] = even[7] - even[8];
  }
  template <typename V>
  static void contract(const V* tensor, V* of_pair) {
#pragma GCC unroll 3
    for (int axis = 0; axis < axes; ++axis) of_pair[axis] = tensor[axis];
    for (int a = 0, pair = axes; a < axes; ++a)
      for (int b = a + 1; b < axes; ++b) {
        const V trace = tensor[a] + tensor[b], twice = tensor[place(a, b)] + tensor[place(a, b)];
        of_pair[pair++] = trace + twice;
        of_pair[pair++] = trace - twice;
      }
  }
  template <typename V>
  static V square(const V* u) {
    return (u[0] * u[0] + u[1] * u[1]) + u[2] * u[2];
  }
  template <typename V>
  static V trace(const V* tensor) {
    return (tensor[0] + tensor[1]) + tensor[2];
  }
  static constexpr int place(int a, int b) {
    return 2 + a + b;
  }
};

/// The velocity and the weight of a direction.
template <typename L>
constexpr std::array<int, 3> velocity_of(int direction) {
  if (direction == 0) return {0, 0, 0};
  const std::array<int, 3> c = L::forward[static_cast<unsigned>((direction - 1) / 2)];
  return direction % 2 == 1 ? c : std::array<int, 3>{-c[0], -c[1], -c[2]};
}
/// c u of a pair.
template <typename L, int pair, typename V>
[[gnu::always_inline]] inline V along(const V* u) {
  constexpr std::array<int, 3> c = L::forward[pair];
  constexpr int first = c[0] != 0 ? 0 : c[1] != 0 ? 1 : 2, last = c[2] != 0 ? 2 : c[1] != 0 ? 1 : 0;
  if constexpr (first == last)
    return u[first];
  else if constexpr (c[last] > 0)
    return u[first] + u[last];
  else
    return u[first] - u[last];
}
/// Calls `f` with each pair, as a constant.
template <typename L, typename F>
[[gnu::always_inline]] inline void for_each_pair(F f) {
  [&]<int... pair>(std::integer_sequence<int, pair...>) __attribute__((always_inline)) {
    (f(std::integral_constant<int, pair>{}), ...);
  }
  (std::make_integer_sequence<int, L::pairs>{});
}
template <typename L>
constexpr double weight_of(int direction) {
  return direction == 0 ? L::rest : L::weight[static_cast<unsigned>((direction - 1) / 2)];
}
constexpr int opposite_of(int direction) {
  return direction == 0 ? 0 : direction % 2 == 1 ? direction + 1 : direction - 1;
}

}  // namespace sidestream::solvers
