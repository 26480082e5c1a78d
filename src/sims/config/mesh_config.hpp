#pragma once

#include <array>
#include <cstdint>

#include "sidestream/core/config.hpp"
#include "sidestream/mesh/box.hpp"
#include "sidestream/mesh/forest.hpp"

namespace sidestream::sims {

/// The table `[mesh]`.
struct MeshConfig {
  std::array<std::int32_t, 3> cells{};
  std::int32_t block = 0;

  mesh::Int3 extent() const { return {cells[0], cells[1], cells[2]}; }
};

/// Blocks of solvers with ghost cells have at least eight cells a side.
constexpr std::int32_t usual_least_block = 8;

core::Table<MeshConfig> mesh_table(std::int32_t least_block = usual_least_block);

/// Reads `[mesh]` of the configuration `root` and checks that blocks fit; stores it in `resolved`. Throws core::Error.
MeshConfig read_mesh(const core::Node& root, core::Node& resolved, std::int32_t least_block = usual_least_block);

/// The same of blocks that need not divide the cells of each axis: the reader checks what they have to.
MeshConfig read_tiles(const core::Node& root, core::Node& resolved, std::int32_t least_block = usual_least_block);

/// Blocks of all cells where they have the level.
double block_count(const MeshConfig& config, int level = 0);

/// The member `name` of `root`, or an empty table of that name.
core::Node table_or_empty(const core::Node& root, const std::string& name);

}  // namespace sidestream::sims
