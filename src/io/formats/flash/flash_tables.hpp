#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/content/file_content.hpp"

namespace sidestream::io {

// What FLASH (Fryxell et al. 2000, ApJS 131, 273; file format version 9) keeps beside the cells, in the words of its
// files and independent of the library that holds them. Blocks are counted level by level.

/// Four letters for each field, all different.
std::vector<std::string> flash_variables(const FileContent& content);
/// The numbers of a particle in a file: blk, posx, posy, posz, proc, tag, then those of the content in their order.
std::vector<std::string> flash_particle_properties(const FileContent& content);
inline constexpr std::size_t flash_own_properties = 6;

template <typename T>
using Scalars = std::vector<std::pair<std::string, T>>;

struct FlashTables {
  std::int64_t blocks = 0;
  int dimensions = 3;                                         ///< axes up to the last one of more than one cell
  mesh::Int3 block_cells;                                     ///< of each block
  int gid_width = 15;                                         ///< neighbours, parent, children: 2 d + 1 + 2^d
  std::vector<double> bounding_box, coordinates, block_size;  ///< (N, 3, 2), (N, 3), (N, 3)
  std::vector<std::int32_t> refine_level, node_type, gid, processor, particles_of_blocks;
  Scalars<std::int32_t> integer_scalars, integer_parameters, logical_scalars, logical_parameters;
  Scalars<double> real_scalars, real_parameters;
  Scalars<std::string> string_scalars, string_parameters;
};

/// Throws a core::Error unless all blocks of `content` are equally large and lie on the grid of blocks of their level:
/// other meshes FLASH has no words for. Returns the cells of a block. Local.
mesh::Int3 check_flash_blocks(const FileContent& content);

/// O(blocks). Local; for the rank that makes the file. `particles_of_blocks` of all blocks; empty without particles.
FlashTables flash_tables(const FileContent& content, const std::vector<std::int64_t>& particles_of_blocks);

}  // namespace sidestream::io
