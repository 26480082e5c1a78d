#pragma once

#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

/// The ranks as rows x columns. x-pencils are cut in `rows` along y and `columns` along z, y-pencils in `rows` along x
/// and `columns` along z, z-pencils in `rows` along x and `columns` along y. With one row the first two are the same
/// slabs.
struct ProcessGrid {
  int rows = 1, columns = 1;
  int ranks() const { return rows * columns; }
};

/// The grid that employs the most of `ranks` ranks with at least one line each; ranks beyond it own nothing. O(ranks).
ProcessGrid choose_process_grid(mesh::Int3 cells, int ranks, Decomposition decomposition);

}  // namespace sidestream::fft
