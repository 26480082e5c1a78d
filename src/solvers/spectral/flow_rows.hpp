#pragma once

#include <array>
#include <complex>

#include "sidestream/core/largest_magnitude.hpp"

namespace sidestream::solvers {

/// What a stage of a Runge-Kutta step does with the state at the beginning of the step (`base`), the sum of what all
/// stages give (`sum`) and the state that the next stage begins with (`next`), the nonlinear term being `n` and `decay`
/// the exact solution of the linear one over the time between two stages.
enum class StageKind {
  first,     ///< sum = decay (base + b n), next = decay (base + a n), base = decay base
  middle,    ///< sum += b n, next = base + a n
  decaying,  ///< sum = decay (sum + b n), next = decay (base + a n)
  last,      ///< base = next = sum + b n
};

/// `a` and `b` above, times the time step.
struct StageWeights {
  StageKind kind = StageKind::last;
  double next = 0.0, sum = 0.0;
};

/// A row of modes along x: its wavenumbers, and the decay of each over a stage as `decay_x[i] * decay_yz`.
struct ModeRow {
  int modes = 0;
  const double* kx = nullptr;
  double ky = 0.0, kz = 0.0;
  const double* decay_x = nullptr;
  double decay_yz = 1.0;
};

template <typename Real>
using ComplexRow = std::complex<Real>*;

// Loops over the cells and modes of a row of floats or doubles, for every instruction set. What is done with a mode is
// done in doubles and rounded once.
inline namespace kernels {

/// Adds the cells that the flow crosses in a unit of time to `rate` (`over_dx`: one over the size of a cell).
template <typename Real>
[[gnu::visibility("default")]] void find_fastest_flow(int cells, const std::array<double, 3>& over_dx,
                                                      const std::array<const Real*, 3>& velocity,
                                                      core::LargestMagnitude& rate);

/// Replaces the velocity in `fields[0..2]` by uu - ww, vv - ww, uv, and writes uw, vw to the others (Basdevant 1983:
/// the trace of the tensor is pressure).
template <typename Real>
[[gnu::visibility("default")]] void multiply_velocities(int cells, const std::array<Real*, 5>& fields);

/// The flux of a scalar: `velocity[i]` times `scalar`.
template <typename Real>
[[gnu::visibility("default")]] void multiply_scalar(int cells, const std::array<const Real*, 3>& velocity,
                                                    const Real* scalar, const std::array<Real*, 3>& flux);

/// One stage of the velocity: the nonlinear term is the part of -i k_j A_ij without divergence, of the spectra A of
/// what `multiply_velocities` leaves, in `tensor`, whose first three rows are `next` afterwards. The weights hold the
/// factor that makes spectra of sums over cells.
template <typename Real>
[[gnu::visibility("default")]] void advance_velocity(const ModeRow& row, const StageWeights& weights,
                                                     const std::array<ComplexRow<Real>, 5>& tensor,
                                                     const std::array<ComplexRow<Real>, 3>& base,
                                                     const std::array<ComplexRow<Real>, 3>& sum);

/// One stage of a scalar of flux `flux`; `next` may be a row of fluxes that were used before. `source` is a rate of
/// change, of weights `source_weights` beside those of the flux; null: none.
template <typename Real>
[[gnu::visibility("default")]] void advance_scalar(const ModeRow& row, const StageWeights& weights,
                                                   const std::array<ComplexRow<Real>, 3>& flux,
                                                   const std::complex<Real>* source, const StageWeights& source_weights,
                                                   ComplexRow<Real> base, ComplexRow<Real> sum, ComplexRow<Real> next);

/// Takes away the part of a velocity along the wave of each mode. The mean stays.
template <typename Real>
[[gnu::visibility("default")]] void remove_divergence(const ModeRow& row,
                                                      const std::array<ComplexRow<Real>, 3>& velocity);

/// `modes[i] *= phase_x[i] * phase_yz`: the field on a grid displaced by d, for phases exp(i k d).
template <typename Real>
[[gnu::visibility("default")]] void displace(int modes, const std::complex<double>* phase_x,
                                             std::complex<double> phase_yz, ComplexRow<Real> row);

/// |u|^2 of each mode of three components to `square`, k^2 times it to `steepness`.
template <typename Real>
[[gnu::visibility("default")]] void square_modes(const ModeRow& row,
                                                 const std::array<const std::complex<Real>*, 3>& velocity,
                                                 double* square, double* steepness);

}  // namespace kernels

}  // namespace sidestream::solvers
