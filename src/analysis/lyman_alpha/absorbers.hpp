#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/lyman_alpha/spectral_line.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// How the light of a line is absorbed: by each cell for itself ("local"), or at the velocities of its gas with thermal
/// profiles ("full") or Voigt profiles ("voigt").
enum class Broadening { local, full, voigt };
inline constexpr std::array broadening_names{"local", "full", "voigt"};
Broadening broadening_of(const std::string& name);

/// 0, 1, 2 of "x", "y", "z". Throws core::Error at the key `axes`.
int axis_of(const std::string& name);

/// The fields that absorption along these axes follows from.
std::vector<std::string> absorber_fields(const SpectralLine& line, const std::vector<int>& axes);

/// The gas of a snapshot that absorbs in a line, on the cells of one level. Lives as long as the snapshot.
struct Absorbers {
  HubbleFlow flow;
  mesh::Geometry geometry;                 ///< of the cells
  ScalarView density, temperature;         ///< [proper 1/cm^3], [K]
  std::array<ScalarView, 3> velocity;      ///< [proper km/s], along the axes that were asked for
  std::array<LineScales, 3> scales;        ///< along each axis
  std::array<std::string, 5> field_names;  ///< of density, temperature and velocities, for messages

  /// A light crossing: velocities and widths of lines are below it.
  double most_pixels(int axis) const;
};

/// Collective. On a refined mesh each cell has the mean over its volume. Throws core::Error where the snapshot has no
/// such gas or no cosmology.
Absorbers absorbers_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const SpectralLine& line,
                       const std::vector<int>& axes, int level);

/// Throws core::Error naming a cell whose gas, on lines along `axis`, is not physical. Collective; there is one.
[[noreturn]] void refuse_absorbers(const comm::Communicator& comm, const Absorbers& gas, int axis);

}  // namespace sidestream::analysis
