#pragma once

#include <cmath>
#include <complex>
#include <functional>
#include <numbers>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/fft/modes.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::test {

/// Modes with |k| within half a fundamental of n fundamentals, n = 1, 2, ...
struct PowerBin {
  double k = 0.0;         ///< mean wavenumber [1/Mpc]
  double power = 0.0;     ///< mean of volume * |delta_k|^2, cloud-in-cell window divided out [Mpc^3]
  double expected = 0.0;  ///< mean of the given spectrum over the same modes
  double modes = 0.0;
};

/// The power spectrum of `density` on a cubic box, measured plainly. Collective.
inline std::vector<PowerBin> power_bins(const comm::Communicator& comm, const mesh::Geometry& geometry,
                                        const mesh::Field<double>& density,
                                        const std::function<double(double)>& expected) {
  const fft::FftPlan<double> plan(comm, density.layout());
  mesh::Field<std::complex<double>> modes(plan.spectral(), comm.rank());
  plan.forward(density, modes);
  core::ExactSum mass;
  for (const double rho : density.all()) mass.add(rho);
  const double total = comm.sum(mass), fundamental = 2.0 * std::numbers::pi / geometry.length[0];
  const auto bins = static_cast<std::size_t>(plan.cells().x / 2);
  std::vector<core::ExactSum> k_sum(bins), power_sum(bins), expected_sum(bins), mode_sum(bins);

  fft::for_each_mode(modes, plan.cells(), [&](const fft::Mode& mode, const std::complex<double>& amplitude) {
    double n_squared = 0.0, window = 1.0;
    for (int axis = 0; axis < 3; ++axis) {
      const double phase = std::numbers::pi * mode.wavenumber[axis] / plan.cells()[axis];
      n_squared += mode.wavenumber[axis] * mode.wavenumber[axis];
      if (phase != 0.0) window *= std::pow(std::sin(phase) / phase, 2);
    }
    const double n = std::sqrt(n_squared);
    const auto bin = static_cast<std::size_t>(std::lround(n));
    if (bin == 0 || bin >= bins) return;
    k_sum[bin].add(mode.weight * n * fundamental);
    power_sum[bin].add(mode.weight * geometry.volume() * std::norm(amplitude / (total * window)));
    expected_sum[bin].add(mode.weight * expected(n * fundamental));
    mode_sum[bin].add(mode.weight);
  });

  for (auto* sums : {&k_sum, &power_sum, &expected_sum, &mode_sum}) comm.sum(std::span(*sums));
  std::vector<PowerBin> result(bins);
  for (std::size_t bin = 1; bin < bins; ++bin) {
    const double count = mode_sum[bin].value();
    result[bin] = {k_sum[bin].value() / count, power_sum[bin].value() / count, expected_sum[bin].value() / count,
                   count};
  }
  return result;
}

}  // namespace sidestream::test
