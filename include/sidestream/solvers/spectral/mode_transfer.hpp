#pragma once

#include "sidestream/comm/communicator.hpp"
#include "sidestream/solvers/spectral/spectral_transform.hpp"

namespace sidestream::solvers {

/// Moves the modes of real fields from where `from`, the spectrum of a grid of `from_waves` cells, has them to where
/// `to`, that of one of `to_waves`, wants them, wave by wave. Waves that `from` has not are zero in `to`; what `to` has
/// no place for, and waves of half of an even number of cells, are left out. All components. Collective.
template <typename Real>
void transfer_modes(const comm::Communicator& comm, const Spectrum<Real>& from, mesh::Int3 from_waves,
                    Spectrum<Real>& to, mesh::Int3 to_waves);

/// The modes of a real grid of `waves` cells in blocks of one whole plane: of equal size, as some file formats want
/// them, and the same on any number of ranks.
mesh::Layout mode_planes(mesh::Int3 waves, int ranks);

}  // namespace sidestream::solvers
