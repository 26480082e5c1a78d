#pragma once

#include <cstdint>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/fft/fft_plan.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::analysis {

/// Power in shells of wave numbers, by the angle to an axis; complete on rank 0. Shells are those between (n - 1/2) and
/// (n + 1/2) fundamental modes of the longest side, n from 1 to the Nyquist frequency of the coarsest axis. Bins of mu
/// = |k_axis| / k are of equal width from 0 to 1, the last one with 1. All are there, also those without modes, which
/// have zeros.
struct AngularPower {
  std::vector<double> shell_k;                             ///< of shells: mean wave number [1 / unit of length]
  std::vector<double> monopole, quadrupole, hexadecapole;  ///< of shells: (2l + 1) times the mean of power L_l(mu)
  std::vector<double> k, mu, power;                        ///< of shells and bins, the bin fastest: means over modes
  std::vector<std::int64_t> modes;                         ///< of shells and bins; k and -k both counted
};

/// Of the field whose transform is `spectrum` and whose mean is `mean`, relative to that: volume times |delta_k|^2.
/// Collective.
AngularPower angular_power(const comm::Communicator& comm, const mesh::Field<std::complex<double>>& spectrum,
                           const mesh::Geometry& geometry, double mean, int axis, std::int64_t mu_bins);

}  // namespace sidestream::analysis
