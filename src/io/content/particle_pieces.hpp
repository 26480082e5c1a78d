#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/content/file_content.hpp"

namespace sidestream::io {

/// Particles of a rank that are written, checked and read as one.
struct ParticlePiece {
  std::size_t level = 0, first = 0, count = 0;
};

/// All particles of this rank, level by level.
std::vector<ParticlePiece> particle_pieces(const FileContent& content);

/// Arrays of numbers that a file keeps of each particle beside the id: the positions and the reals.
std::size_t particle_numbers(const FileContent& content);

/// Writes the ids of a piece, or its numbers `number` in the file's precision, to `out` of any alignment.
void pack_ids(const FileContent& content, const ParticlePiece& piece, std::byte* out);
void pack_numbers(const FileContent& content, const ParticlePiece& piece, std::size_t number, std::byte* out);

}  // namespace sidestream::io
