#include "sims/run/mesh_config.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sidestream::sims {

core::Table<MeshConfig> mesh_table(std::int32_t least_block) {
  core::Table<MeshConfig> table("The grid");
  table.option("cells", &MeshConfig::cells, {64, 64, 64}).range(1, 1 << 20).doc("cells along x, y, z");
  table.option("block", &MeshConfig::block, 32).range(least_block, 256).doc("cells a block side; 16 to 64 are fastest");
  return table;
}

core::Node table_or_empty(const core::Node& root, const std::string& name) {
  const core::Node* found = root.find(name);
  return found != nullptr ? *found : core::Node(core::Node::Members{}, name);
}

namespace {

// Every rank knows all blocks, of which lists and indices have to stay small.
void check_blocks(const MeshConfig& config, const core::Node& node) {
  constexpr double most = 1 << 24;
  double blocks = 1.0;
  for (const std::int32_t cells : config.cells) blocks *= std::ceil(static_cast<double>(cells) / config.block);
  if (blocks <= most) return;
  const core::Node* const cells = node.find("cells");
  core::reject(cells != nullptr ? *cells : node, fmt::format("these are {:.3g} blocks of {}", blocks, config.block),
               fmt::format("{} are the most: take a larger `mesh.block`, or fewer cells", 1 << 24));
}

}  // namespace

MeshConfig read_tiles(const core::Node& root, core::Node& resolved, std::int32_t least_block) {
  const core::Node node = table_or_empty(root, "mesh");
  core::Node part;
  const MeshConfig config = mesh_table(least_block).read(node, &part);
  check_blocks(config, node);
  resolved.set("mesh", part);
  return config;
}

MeshConfig read_mesh(const core::Node& root, core::Node& resolved, std::int32_t least_block) {
  const MeshConfig config = read_tiles(root, resolved, least_block);
  const core::Node node = table_or_empty(root, "mesh");
  try {
    mesh::Forest(config.extent(), config.block);
  } catch (const core::Error& error) {
    const core::Node* cells = node.find("cells");
    core::reject(cells != nullptr ? *cells : node, error.message(), error.hint());
  }
  return config;
}

}  // namespace sidestream::sims
