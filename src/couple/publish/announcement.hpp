#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/couple/transport.hpp"

namespace sidestream::couple {

/// A field that travels.
struct FieldLabel {
  std::string name, unit;
};

/// The particles of a species in a publish, of which all ranks have the same attributes. A particle travels as words of
/// 8 bytes: id, position, attributes.
struct ParticleLabel {
  std::string species;
  std::int64_t count = 0;  ///< of all ranks
  double mass = 0.0;       ///< of each [Msun], when all are alike
  std::vector<FieldLabel> attributes;

  std::size_t words() const { return 4 + attributes.size(); }
  std::int64_t bytes() const { return 8 * count * static_cast<std::int64_t>(words()); }
};

/// How many words of particles go from a rank that computes to a sidecar, each counted in its group.
struct ParticleFlow {
  std::int32_t from = 0, to = 0;
  std::int64_t words = 0;
};

/// What those who analyse must know of a publish beyond its moment and its cells.
struct Announcement {
  std::int64_t number = 0;               ///< counts the publishes of a transport
  std::vector<std::size_t> tasks;        ///< to run, indices into the configuration
  std::vector<FieldLabel> fields;        ///< in the order of the data
  std::vector<ParticleLabel> particles;  ///< in the order of the data, which is that of the snapshot's species
  std::vector<std::int64_t> bytes;       ///< of all levels and particles, charged to each task
  std::int64_t first_step = 0;           ///< that the session was asked about
  std::optional<FileOrder> file;         ///< that is written of it, in place of tasks
  /// Where particles travel: one for each pair of ranks that exchange blocks, by `from`.
  std::vector<ParticleFlow> flows;
};

/// Of all tasks, or of the file.
std::int64_t total_bytes(const Announcement& announcement);

}  // namespace sidestream::couple
