#pragma once

#include <complex>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/field.hpp"
#include "sidestream/mesh/geometry.hpp"
#include "sidestream/redistribute/redistribution.hpp"
#include "solvers/gravity/root_poisson.hpp"

namespace sidestream::solvers {

/// The Poisson equation of a source in empty space: the convolution of the source with the Green's function of the
/// 7-point Laplacian on an endless grid, by Fourier transform on a domain twice as wide (Hockney & Eastwood 1988,
/// section 6-5-4). An exact inverse of the 7-point Laplacian; far away the potential is -mass / (4 pi r). Memory: some
/// 350 bytes a cell of the domain, of all ranks together.
class IsolatedPoisson final : public RootPoisson {
 public:
  /// `blocks` covers the domain of `geometry`. Collective; computes the Green's function, some 4 us a cell.
  IsolatedPoisson(const comm::Communicator& comm, const mesh::Layout& blocks, const mesh::Geometry& geometry);

  const mesh::Field<double>& solve(const mesh::Field<double>& rhs) override;

 private:
  mesh::Layout doubled_;        // the doubled domain, dealt to all ranks
  mesh::Layout blocks_within_;  // the blocks, as boxes of the doubled domain
  redistribute::Redistribution in_, out_;
  fft::FftPlan<double> transform_;
  mesh::Field<double> extended_, potential_;
  mesh::Field<std::complex<double>> spectrum_;
  mesh::Field<double> green_;
};

}  // namespace sidestream::solvers
