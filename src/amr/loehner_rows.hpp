#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace sidestream::amr {

/// Where the neighbours of a cell are, in numbers, and what derivatives count; flat axes lead back to the cell itself.
struct Stencil {
  std::array<std::ptrdiff_t, 3> step{};
  std::array<double, 3> weight{};
};

// Loops over cells, for every instruction set.
#pragma GCC visibility push(default)

/// The errors of the cells of a row along x that begins at `u`. `is_flat_z`: the weight of z is zero, and what it
/// multiplies is not computed.
void loehner_errors(const double* u, const Stencil& stencil, bool is_flat_z, std::span<double> errors);

#pragma GCC visibility pop

}  // namespace sidestream::amr
