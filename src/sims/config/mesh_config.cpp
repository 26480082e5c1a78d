#include "sims/config/mesh_config.hpp"

#include <fmt/format.h>

#include <cmath>

namespace sidestream::sims {

constexpr std::int32_t largest_block = 256;

core::Table<MeshConfig> mesh_table(std::int32_t least_block) {
  core::Table<MeshConfig> table("The grid");
  table.option("cells", &MeshConfig::cells, {64, 64, 64}).range(1, 1 << 20).doc("cells along x, y, z");
  table.option("block", &MeshConfig::block, 32)
      .range(least_block, largest_block)
      .doc("cells a block side; 16 to 64 are fastest");
  return table;
}

core::Node table_or_empty(const core::Node& root, const std::string& name) {
  const core::Node* found = root.find(name);
  return found != nullptr ? *found : core::Node(core::Node::Members{}, name);
}

namespace {

double blocks_of(const MeshConfig& config, std::int32_t block, int level = 0) {
  double blocks = 1.0;
  for (const std::int32_t cells : config.cells)
    if (cells > 1) blocks *= std::ldexp(std::ceil(static_cast<double>(cells) / block), level);
  return blocks;
}

// Every rank knows all blocks, of which lists and indices have to stay small.
void check_blocks(const MeshConfig& config, const core::Node& node) {
  constexpr double most = 1 << 24;
  const double blocks = blocks_of(config, config.block);
  if (blocks <= most) return;
  double bytes = 8.0;
  for (const std::int32_t cells : config.cells) bytes *= cells;
  std::int32_t enough = config.block;
  while (enough < largest_block && blocks_of(config, enough) > most) enough *= 2;
  const std::string hint = enough <= largest_block && blocks_of(config, enough) <= most
                               ? fmt::format("`mesh.block = {}`", enough)
                               : "fewer cells";
  const core::Node* const cells = node.find("cells");
  core::reject(
      cells != nullptr ? *cells : node, fmt::format("these are {:.3g} blocks of {}", blocks, config.block),
      fmt::format("{} are the most: take {}; so many cells take {:.3g} GiB for each number that they have, over all "
                  "ranks",
                  1 << 24, hint, bytes / 0x1p30));
}

}  // namespace

double block_count(const MeshConfig& config, int level) {
  return blocks_of(config, config.block, level);
}

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
    mesh::Int3 cells = config.extent();
    for (int axis = 0; axis < 3; ++axis)
      if (cells[axis] > 1 && cells[axis] % config.block == 0) cells[axis] = config.block;
    mesh::Forest(cells, config.block);  // of one block where blocks fit, however many cells there are
  } catch (const core::Error& error) {
    const core::Node* cells = node.find("cells");
    core::reject(cells != nullptr ? *cells : node, error.message(), error.hint());
  }
  return config;
}

}  // namespace sidestream::sims
