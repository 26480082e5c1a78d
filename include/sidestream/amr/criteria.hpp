#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sidestream/core/registry.hpp"
#include "sidestream/core/view.hpp"
#include "sidestream/mesh/geometry.hpp"

namespace sidestream::amr {

/// What a block asks for.
struct Tags {
  bool refine = false;  ///< some cells want to be smaller
  bool coarsen = true;  ///< all cells may be larger
  /// The smallest box around the cells that want to be smaller, or as small as they are where the criterion goes no
  /// finer: a neighbour within the buffer around it is to be no coarser than level + `refine`.
  mesh::Box tagged;
  /// The smallest box around the cells that are rightly as small as they are: by which the level below was refined,
  /// though they ask for no more. A neighbour within the buffer, in cells of the level below, is to be no coarser.
  mesh::Box held;

  /// Refines if either does, coarsens if both do.
  Tags& operator+=(const Tags& other);
};

/// A block and what criteria look at.
struct BlockData {
  mesh::Box cells;  ///< without ghost cells
  int level = 0;
  mesh::Geometry geometry;  ///< of `level`
  /// By name, one component each, with `Criterion::ghost` filled layers of ghost cells on each axis of more than one
  /// cell.
  std::map<std::string, core::View4<const double>> fields;
  double four_pi_g = 0.0;  ///< the factor of density in Poisson's equation, in units of the fields (Jeans length only)
  double gamma = 5.0 / 3.0;  ///< ratio of specific heats (Jeans length only)

  /// Throws core::Error when it is not there.
  core::View4<const double> field(const std::string& name) const;
};

/// A rule by which blocks are refined and coarsened. Pure: what it says of a block depends on the cells of the block
/// and their ghost cells only, the same to the bit for mirrored or axis-exchanged data.
struct Criterion {
  std::string name;
  std::vector<std::string> fields;                    ///< that it looks at
  std::int32_t ghost = 0;                             ///< layers of ghost cells that it reads
  int max_level = std::numeric_limits<int>::max();    ///< the finest level that it asks for
  std::function<Tags(const BlockData& block)> judge;  ///< without regard to `max_level`
};

/// What a criterion, or all of several together, say of a block. Without criteria, any block may be coarsened.
Tags judged(const Criterion& criterion, const BlockData& block);
Tags judged(const std::vector<Criterion>& criteria, const BlockData& block);

/// The fields that several criteria need, each once.
std::vector<std::string> fields_of(const std::vector<Criterion>& criteria);
/// The ghost cells that they need.
std::int32_t ghost_of(const std::vector<Criterion>& criteria);

/// Limits of a quantity between which nothing changes. `coarsen_below` < `refine_above`.
struct Limits {
  double refine_above = 0.8, coarsen_below = 0.2;
};

/// Refines where the estimate of Loehner (1987) of any of `fields` is above the limit. Dimensionless, from 0 (linear)
/// to 1 (a jump).
Criterion loehner(std::vector<std::string> fields, Limits limits);
/// Refines where |u(i+1) - u(i-1)| / |u(i)| of any of `fields` is above the limit along some axis.
Criterion gradient(std::vector<std::string> fields, Limits limits);
/// Refines where any of `fields` is above the limit, which is multiplied by `level_factor` for each level: 8 keeps the
/// mass of a cell about constant in three dimensions (4 in two). A block may be coarsened where all values are below
/// the limit for that of the level that it would come to. Cells above the limit of the level below are held.
Criterion threshold(std::vector<std::string> fields, Limits limits, double level_factor = 1.0);
/// Refines where the Jeans length sqrt(pi c^2 / (G rho)), c^2 = gamma p / rho, is less than `refine_below` cells; a
/// block may be coarsened where it is above `coarsen_above` of the cells that it would come to (Truelove et al. 1997).
/// Cells in which it is less than `refine_below` cells of the level below are held.
Criterion jeans(std::string density, std::string pressure, double refine_below, double coarsen_above);

/// A region in physical coordinates: flat axes do not count, periodic images do.
struct BoxRegion {
  std::array<double, 3> lower{}, upper{};
};
struct SphereRegion {
  std::array<double, 3> center{};
  double radius = 0.0;
};
/// Refines blocks that meet the region, down to `max_level`, and keeps them; asks for no buffer around them, so that
/// the mesh of a region is the same whatever the buffer.
Criterion region(const BoxRegion& box, int max_level);
Criterion region(const SphereRegion& sphere, int max_level);

/// Loehner's (1987) error estimate in several dimensions as the FLASH code uses it (Fryxell et al. 2000, section 5.2):
/// the second derivatives of `u` in cell `cell` over the mean of the first ones, with central differences over two
/// cells, so that cells within two of this one count. What is below `loehner_filter` of the value counts as ripples.
constexpr double loehner_filter = 0.01;
double loehner_error(core::View4<const double> u, mesh::Int3 cell, const mesh::Geometry& geometry);

/// Reads the tables `[refine.NAME]` of `root`, with defaults filled in into `resolved`. Throws core::Error.
std::vector<Criterion> read_criteria(const core::Node& root, core::Node& resolved);

/// A kind of criterion by name.
struct CriterionEntry {
  std::string name, documentation;
  std::function<std::vector<core::Option>()> options;
  /// Makes one from a table `[refine.NAME]`, with defaults filled in into `resolved`. Throws core::Error.
  std::function<Criterion(const core::Node& table, core::Node* resolved)> make;
};
/// All kinds there are.
const core::Registry<CriterionEntry>& criterion_kinds();

}  // namespace sidestream::amr
