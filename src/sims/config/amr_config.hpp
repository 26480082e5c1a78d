#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sidestream/amr/adaptation.hpp"
#include "sidestream/amr/criteria.hpp"
#include "sidestream/amr/subcycle.hpp"
#include "sidestream/core/config.hpp"
#include "sidestream/couple/knob.hpp"
#include "sidestream/mesh/derived.hpp"
#include "sims/config/mesh_config.hpp"

namespace sidestream::sims {

/// The tables `[amr]` and `[refine.NAME]`.
struct AmrConfig {
  std::int32_t min_level = 0, max_level = 0;
  std::int64_t regrid_every = 2;  ///< steps of the coarsest level that has leaves
  std::int32_t buffer = 3;  ///< cells; the clouds of particles within 2.5 coarse cells of a level's side are coarse
  bool subcycle = true;
  std::int64_t max_blocks = 0;
  std::vector<amr::Criterion> criteria;
  core::Node rules;  ///< their tables, by name, with defaults
  /// What criteria look at beside the quantities of the simulation, each after those that it follows from.
  std::vector<mesh::DerivedQuantity> derived;

  amr::AdaptationLimits limits() const { return {min_level, max_level, buffer}; }
  amr::TimeLevels time_levels() const { return subcycle ? amr::TimeLevels::subcycled : amr::TimeLevels::equal; }
};

core::Table<AmrConfig> amr_table();

/// Reads `[amr]` and `[refine.NAME]` of `root` and checks that levels, blocks and criteria fit the mesh; stores them in
/// `resolved`. Criteria may look at the simulation's `quantities` but those of `unseen`, and at what `[quantity.NAME]`
/// derives from them, and from the redshift where there is one. Throws core::Error.
AmrConfig read_amr(const core::Node& root, const MeshConfig& mesh, const std::vector<mesh::Quantity>& quantities,
                   const std::vector<std::string>& unseen, bool has_redshift, core::Node& resolved);

/// What of it may change in a run: the budget, how often the mesh changes, the steps of levels, and the limits of
/// criteria. None for a mesh that is not refined. `config` outlives them; `take_up` is called where the steps of levels
/// were set.
std::vector<couple::Knob> refinement_knobs(AmrConfig& config, const std::function<void()>& take_up);

/// "12345 blocks (3.1 GiB)", with `block_bytes` each.
std::string describe_blocks(std::int64_t blocks, double block_bytes);

/// Why `forest` may not be used, or "" if its blocks are within the budget.
std::string exceeded_budget(const AmrConfig& config, const mesh::Forest& forest, double block_bytes);

/// Blocks of all levels, leaves and refined ones.
std::int64_t block_count(const mesh::Forest& forest);

}  // namespace sidestream::sims
