#pragma once

#include "sidestream/fft/fft_plan.hpp"

namespace sidestream::fft {

/// The stages of a transform, as layouts: between two of them either lines are transformed where they lie, or cells
/// change their owner.
struct Pencils {
  mesh::Int3 cells, waves;  ///< of the grid; of the smallest grid with the modes that are kept
  ProcessGrid grid;
  mesh::Layout given;             ///< by the caller
  mesh::Layout x_cells, x_modes;  ///< before and after the lines along x
  mesh::Layout y_cells, y_modes;  ///< the y axis in cells, in modes
  mesh::Layout z_cells, z_modes;
  mesh::Layout wanted;  ///< by the caller, or `z_modes`

  bool is_given_in_pencils() const;
  bool y_is_x() const;
  bool z_is_y() const;
  bool is_wanted_in_pencils() const;
  /// Whether no plane is divided or moved: one rank does it all, from cells in one block.
  bool are_planes_whole() const { return is_given_in_pencils() && y_is_x() && z_is_y(); }
  bool keeps_all_of_z() const { return waves.z == cells.z; }
};

/// Throws core::Error, on all ranks alike, for layouts with holes and for wavenumbers or process grids that cannot be.
Pencils pencils_of(const mesh::Layout& given, int ranks, bool is_real, const FftOptions& options);

/// Slice `index` of `count` of the planes of each box; what is empty is left out.
mesh::Layout slice_of(const mesh::Layout& layout, int index, int count);

}  // namespace sidestream::fft
