#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sidestream/solvers/lbm/velocity_gradient.hpp"

namespace sidestream::solvers {

/// The velocity of a row of cells and of those beside it: component a of cell i is `first[a * stride + i]`, and its
/// neighbour along an axis lies `step` of that axis behind; 0: nothing changes along it.
struct VelocityRow {
  const double* first = nullptr;
  std::ptrdiff_t stride = 0;
  std::array<std::ptrdiff_t, 3> step{};
};

/// Loops over cells, for every instruction set, with the same bits.
inline namespace kernels {

/// Writes what follows from central differences to `to`, and 0 where `barriers`, if it is there, is above 0; past the
/// caches if `streams`, in which case `finish_gradients` comes before anybody else reads it.
[[gnu::visibility("default")]] void write_gradients(OfGradient what, const VelocityRow& velocity, int cells,
                                                    const std::int32_t* barriers, double* to, bool streams);
[[gnu::visibility("default")]] void finish_gradients();

}  // namespace kernels

}  // namespace sidestream::solvers
