#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analysis/turbulence/flow.hpp"

namespace sidestream::analysis {

/// What the waves of a flow add up to, in shells of whole wave numbers from 0 on (see WaveNumbers); all sums exact.
/// Spectra are densities in k: times the width of the shells, `fundamental`, they add up to the means over the box.
struct FlowSpectra {
  double fundamental = 0.0;
  std::vector<std::int64_t> modes;  ///< in each shell, k and -k both counted
  std::vector<double> energy;       ///< of |u|^2 / 2
  std::vector<double> k2_energy;    ///< of |k|^2 |u|^2 / 2
  std::vector<double> helicity;     ///< of u . curl u
  // Means over the box without the mean flow:
  std::array<double, 3> squared_velocity{};  ///< of each component
  double energy_over_k = 0.0;                ///< of |u|^2 / (2 |k|)
  double gradients = 0.0;                    ///< of |k|^2 |u|^2: the sum of all squared gradients
  double enstrophy = 0.0;                    ///< of |curl u|^2 / 2
  double squared_divergence = 0.0;           ///< of (div u)^2
};

/// Complete on rank 0, all zero elsewhere. Collective. Throws core::Error where sums are too large for a double.
FlowSpectra flow_spectra(const comm::Communicator& comm, const Flow& flow);

/// The same of a scalar without its mean, of whose square they are densities.
struct ScalarSpectra {
  std::vector<double> variance;         ///< of theta^2
  std::vector<double> k2_variance;      ///< of |k|^2 theta^2
  double total = 0.0, gradients = 0.0;  ///< means over the box of theta^2 and |grad theta|^2
  std::array<double, 3> flux{};         ///< <u theta> along each axis
};
ScalarSpectra scalar_spectra(const comm::Communicator& comm, const Flow& flow, const ScalarView& scalar);

}  // namespace sidestream::analysis
