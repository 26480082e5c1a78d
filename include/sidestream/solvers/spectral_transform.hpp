#pragma once

#include <complex>

#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/solvers/wave_grid.hpp"

namespace sidestream::solvers {

using Spectrum = mesh::Field<std::complex<double>>;

/// Transforms of several components between the modes that a `WaveGrid` keeps and its cells.
class SpectralTransform {
 public:
  /// Cells lie as `real` has them. Collective, as are the members that transform.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, const mesh::Layout& real,
                    std::int32_t ghost = 0);
  /// Cells lie so that as little as possible is moved.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, std::int32_t ghost = 0);

  const mesh::Layout& real() const { return plan_.real(); }
  const mesh::Layout& modes() const { return plan_.spectral(); }
  /// The real grid whose modes are stored: `fft::wavenumber(index, waves)`.
  mesh::Int3 waves() const { return plan_.cells(); }

  /// sum over modes of u(k) exp(i k.x) of every component, into the first ones of `real`; `spectrum` is lost.
  void backward(Spectrum& spectrum, mesh::Field<double>& real);
  /// sum over cells of u(x) exp(-i k.x) of the first components of `real`, as many as `spectrum` has.
  void forward(const mesh::Field<double>& real, Spectrum& spectrum);

 private:
  fft::FftPlan plan_;
  int rank_;
};

/// The cells of a domain in slabs along z, or pencils along x where there are more ranks than planes.
mesh::Layout slabs_or_pencils(const mesh::Box& domain, int ranks);

}  // namespace sidestream::solvers
