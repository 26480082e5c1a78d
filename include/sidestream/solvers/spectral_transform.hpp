#pragma once

#include <complex>

#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/solvers/wave_grid.hpp"

namespace sidestream::solvers {

using Spectrum = mesh::Field<std::complex<double>>;

/// How many fields are transformed together.
struct TransformedFields {
  int backward = 1, forward = 1;
};

/// Transforms of several components between the modes that a `WaveGrid` keeps and its cells.
class SpectralTransform {
 public:
  /// Cells lie as `real` has them; `backward` fills `ghost` layers of ghost cells too. Collective, as are the members
  /// that transform.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, const mesh::Layout& real,
                    TransformedFields components = {}, std::int32_t ghost = 0);
  /// Cells lie so that as little as possible is moved.
  SpectralTransform(const comm::Communicator& comm, const WaveGrid& grid, TransformedFields components,
                    std::int32_t ghost = 0);

  const mesh::Layout& real() const { return forward_.real(); }
  const mesh::Layout& modes() const { return forward_.spectral(); }
  /// The real grid whose modes are stored: `fft::wavenumber(index, waves)`.
  mesh::Int3 waves() const { return forward_.waves(); }

  /// sum over modes of u(k) exp(i k.x) of every component, into the first ones of `real`; `spectrum` is lost.
  void backward(Spectrum& spectrum, mesh::Field<double>& real);
  /// sum over cells of u(x) exp(-i k.x) of every component of `spectrum`, from the first ones of `real`.
  void forward(const mesh::Field<double>& real, Spectrum& spectrum);

 private:
  fft::FftPlan<double> backward_, forward_;
};

}  // namespace sidestream::solvers
