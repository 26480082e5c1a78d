#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/redistribute/data_mapping.hpp"

// What a mapping knows of the chunks of all ranks, and what must hold of them. Nothing here talks to anybody.
namespace sidestream::redistribute {

/// The part of a needed chunk that lies in one periodic image of the whole.
struct ChunkPart {
  std::int32_t chunk = 0;  ///< among the needed ones of the rank
  mesh::Int3 shift;        ///< from the cells of the whole to those of the chunk
  mesh::Box box;           ///< in the whole
};

/// Holds the chunks of `rank` to the whole: owned ones inside of it, needed ones where it is not periodic.
void check_chunks(const DataDescription& description, int rank, std::span<const mesh::Box> owned,
                  std::span<const mesh::Box> needed);

/// The needed chunks with their rims, cut where the whole begins anew; what of a rim lies beyond the whole is left out.
std::vector<ChunkPart> parts_of(const DataDescription& description, std::span<const mesh::Box> needed);

/// The boxes of all ranks, rank after rank, of which each has as many as `counts` says.
mesh::Layout chunk_layout(const DataDescription& description, std::vector<mesh::Box> boxes,
                          std::span<const std::int64_t> counts);

/// Throws core::Error where a chunk that `rank` owns overlaps another one.
void check_disjoint(const mesh::Layout& owned, int rank);

/// Throws core::Error where a part that `rank` needs has cells without an owner. `owned` are disjoint.
void check_covered(const mesh::Layout& owned, int rank, std::span<const ChunkPart> parts);

}  // namespace sidestream::redistribute
