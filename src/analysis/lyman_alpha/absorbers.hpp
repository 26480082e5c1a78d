#pragma once

#include <array>
#include <string>
#include <vector>

#include "analysis/fields/levels.hpp"
#include "analysis/lyman_alpha/spectral_line.hpp"
#include "sidestream/analysis/leaf_field.hpp"
#include "sidestream/comm/communicator.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/mesh/result.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {

/// How the light of a line is absorbed: by each cell for itself ("local"), or at the velocities of its gas with thermal
/// profiles ("full") or Voigt profiles ("voigt").
enum class Broadening { local, full, voigt };
inline constexpr std::array broadening_names{"local", "full", "voigt"};

/// What all analyses of absorption lines ask for.
struct AbsorptionOptions {
  std::string ion, optical_depth;
  std::int64_t level = 0;

  /// To the table of `T`, which has these among its members.
  template <typename T>
  static void add_to(core::Table<T>& table) {
    table.option("ion", static_cast<std::string T::*>(&AbsorptionOptions::ion), "H I")
        .one_of({"H I", "He II"})
        .doc("what absorbs in its Lyman-alpha line");
    table.option("optical_depth", static_cast<std::string T::*>(&AbsorptionOptions::optical_depth), "full")
        .one_of({broadening_names.begin(), broadening_names.end()})
        .doc(
            "along the line with velocities and thermal widths (`full`), with damping wings too (`voigt`), or of each "
            "cell for itself (`local`)");
    table.option("level", static_cast<std::int64_t T::*>(&AbsorptionOptions::level), 0)
        .range(0, finest_possible_level)
        .doc(
            "level of refinement whose cells make the lines: finer ones are averaged, coarser ones fill all of theirs");
  }
};

/// A line, and where and how it absorbs.
struct Absorption {
  SpectralLine line;
  Broadening broadening = Broadening::full;
  std::vector<int> axes;  ///< to look along, ascending
  int level = 0;          ///< of the cells

  /// What it follows from.
  std::vector<std::string> fields() const;
  /// Adds the attributes that say what absorbs.
  void describe(mesh::Result& result, const HubbleFlow& flow) const;
};
/// Along the axes of these names. Throws core::Error at the key `axes`.
Absorption absorption_of(const AbsorptionOptions& options, const std::vector<std::string>& axes);

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
Absorbers absorbers_of(const comm::Communicator& comm, const mesh::Snapshot& snapshot, const Absorption& absorption);

/// Throws core::Error naming a cell whose gas, on lines along `axis`, is not physical. Collective; there is one.
[[noreturn]] void refuse_absorbers(const comm::Communicator& comm, const Absorbers& gas, int axis);

}  // namespace sidestream::analysis
