#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sidestream/mesh/layout.hpp"

namespace sidestream::io {

/// A piece of a data file: the cells of a box or some particles.
struct Chunk {
  std::int32_t file = 0;
  std::int64_t offset = 0, bytes = 0;
  std::uint64_t checksum = 0;  ///< XXH3 of the bytes
};

/// What the file `Header` of a checkpoint says.
struct CheckpointHeader {
  struct Field {
    std::string name;
    int components = 1;
    mesh::Layout layout;
    std::vector<Chunk> boxes;  ///< in the order of the layout; (component, z, y, x)
  };
  struct ParticlePiece {
    std::int64_t count = 0;
    Chunk chunk;  ///< all ids, all x, y, z, then each attribute
  };
  struct Particles {
    bool are_present = false;
    double mass = 0.0;
    std::vector<std::pair<std::string, std::string>> attributes;  ///< name and unit
    std::vector<ParticlePiece> pieces;
  };

  std::int64_t step = 0;
  std::map<std::string, double> attributes;
  std::map<std::string, std::string> texts;
  std::string config;
  std::vector<Field> fields;
  Particles particles;
  std::vector<std::int64_t> file_bytes;  ///< size of each data file

  std::int64_t particle_count() const;
  /// Bytes of a particle in a piece.
  std::int64_t particle_bytes() const { return 8 * (4 + static_cast<std::int64_t>(particles.attributes.size())); }
  std::vector<Chunk> chunks() const;
};

/// The header as it stands in the file: a line with a checksum of the rest, a line of JSON, and the tables of boxes,
/// chunks and pieces of particles in binary, so that a million boxes cost no more than their tables.
std::string to_bytes(const CheckpointHeader& header);

/// Throws a core::Error naming `path` for anything but what `to_bytes` made.
CheckpointHeader parse_checkpoint_header(const std::string& bytes, const std::string& path);

std::string checkpoint_header_file(const std::string& checkpoint);
std::string checkpoint_data_file(const std::string& checkpoint, std::int32_t file);

/// Throws unless the data files are there and as long as they were when they were written. Local.
void check_data_files(const CheckpointHeader& header, const std::string& checkpoint);

}  // namespace sidestream::io
