#pragma once

#include <complex>

#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/solvers/spectral/wave_grid.hpp"

namespace sidestream::solvers {

/// The amplitude of a wave, of floats or doubles, and those of a rank.
template <typename Real>
using Wave = std::complex<Real>;
template <typename Real>
using Spectrum = mesh::Field<Wave<Real>>;

/// How many fields are transformed together.
struct TransformedFields {
  int backward = 1, forward = 1;
};

/// Transforms of several components between the modes that a `WaveGrid` keeps and its cells.
template <typename Real>
class SpectralTransform {
 public:
  /// Cells lie as `real` has them. Collective, as are the members that transform.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, const mesh::Layout& real,
                    TransformedFields components = {});
  /// Cells lie so that as little as possible is moved or, where the exchanges of `comm` are tuned, as tuning finds.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, TransformedFields components);

  const mesh::Layout& real() const { return forward_.real(); }
  const mesh::Layout& modes() const { return forward_.spectral(); }
  /// The real grid whose modes are stored: `fft::wavenumber(index, waves)`.
  mesh::Int3 waves() const { return forward_.waves(); }

  /// sum over modes of u(k) exp(i k.x) of every component, into the first ones of `real`; `spectrum` is lost.
  void backward(Spectrum<Real>& spectrum, mesh::Field<Real>& real);
  /// sum over cells of u(x) exp(-i k.x) of every component of `spectrum`, from the first ones of `real`.
  void forward(const mesh::Field<Real>& real, Spectrum<Real>& spectrum);

 private:
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, const fft::FftOptions& options,
                    TransformedFields components);
  SpectralTransform(const comm::Communicator& comm, const mesh::Layout& real, const fft::FftOptions& options,
                    TransformedFields components);

  fft::FftPlan<Real> backward_, forward_;
};

}  // namespace sidestream::solvers
