#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/analysis/power_spectrum.hpp"
#include "sidestream/mesh/field.hpp"

namespace sidestream::analysis {

/// Power in shells of wave numbers, by the angle to an axis; complete on rank 0. Shells without modes are left out.
/// Bins of mu = |k_axis| / k are of equal width from 0 to 1, the last one with 1; those without modes have zeros.
struct AngularPower {
  std::vector<double> shell_k;                             ///< of shells: mean wave number [1 / unit of length]
  std::vector<std::int64_t> shell_modes;                   ///< of shells; k and -k both counted
  std::vector<double> monopole, quadrupole, hexadecapole;  ///< of shells: (2l + 1) times the mean of power L_l(mu)
  std::vector<double> k, mu, power;                        ///< of shells and bins, the bin fastest: means over modes
  std::vector<std::int64_t> modes;                         ///< of shells and bins; k and -k both counted
};

/// A field as its transform and its mean, which its fluctuation is relative to.
struct RelativeField {
  const mesh::Field<std::complex<double>>& spectrum;
  double mean = 0.0;
};

/// Two of a list of fields, by their places in it.
struct FieldPair {
  std::size_t a = 0, b = 0;
};

/// Volume times Re(delta_a conj(delta_b)) of pairs of fields on the same modes: their power if they are the same. All
/// pairs in one pass over the modes. Collective. Throws core::Error where a power is not finite.
std::vector<AngularPower> angular_powers(const comm::Communicator& comm, std::span<const RelativeField> fields,
                                         std::span<const FieldPair> pairs, const mesh::Geometry& geometry,
                                         const ShellOptions& shells, int axis, std::int64_t mu_bins);

}  // namespace sidestream::analysis
