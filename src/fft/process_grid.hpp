#pragma once

#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

/// The grid that employs the most of `ranks` ranks with at least one line each, of a transform between `cells` and
/// `modes`; ranks beyond it own nothing. O(ranks).
ProcessGrid choose_process_grid(mesh::Int3 cells, mesh::Int3 modes, int ranks, Decomposition decomposition);

}  // namespace sidestream::fft
