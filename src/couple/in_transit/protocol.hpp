#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/mesh/snapshot.hpp"

// The messages between the groups, as they are packed into JSON.
namespace sidestream::couple {

/// A field that travels.
struct FieldLabel {
  std::string name, unit;
};

/// The particles of a publish, of which all ranks have the same attributes. A particle travels as words of 8 bytes: id,
/// position, attributes.
struct ParticleLabel {
  std::int64_t count = 0;  ///< of all ranks
  double mass = 0.0;       ///< of each [Msun], when all are alike
  std::vector<FieldLabel> attributes;

  std::size_t words() const { return 4 + attributes.size(); }
  std::int64_t bytes() const { return 8 * count * static_cast<std::int64_t>(words()); }
};

/// How many particles go from a rank that computes to a sidecar, each counted in its group.
struct ParticleFlow {
  std::int32_t from = 0, to = 0;
  std::int64_t count = 0;
};

/// What the sidecars must know of a publish beyond its fields.
struct Announcement {
  std::int64_t number = 0;         ///< counts the publishes of a run
  std::vector<std::size_t> tasks;  ///< to run, indices into the configuration
  std::vector<FieldLabel> fields;  ///< in the order of the data
  std::optional<ParticleLabel> particles;
  std::vector<std::int64_t> bytes;  ///< of all levels and particles, charged to each task
  std::int64_t first_step = 0;      ///< that the session was asked about
  /// Where particles travel: one for each pair of ranks that exchange blocks, by `from`.
  std::vector<ParticleFlow> flows;
};

nlohmann::json to_message(const mesh::Layout& layout);
mesh::Layout layout_from(const nlohmann::json& message);

/// The layouts of all levels, of which only those that are not in `known` travel.
nlohmann::json to_message(std::span<const mesh::Layout> levels, std::span<const mesh::Layout> known);
/// Takes the place of what was `known` before.
std::vector<mesh::Layout> levels_from(const nlohmann::json& message, std::vector<mesh::Layout> known);

nlohmann::json to_message(const ParticleLabel& particles);
ParticleLabel particle_label_from(const nlohmann::json& message);

/// The announcement, and of the snapshot all but layouts, fields and particles.
nlohmann::json to_message(const Announcement& announcement, const mesh::Snapshot& snapshot);
Announcement announcement_from(const nlohmann::json& message);
mesh::Snapshot snapshot_from(const nlohmann::json& message);

/// The boxes of `layout` dealt to `ranks` ranks: contiguous pieces of their order with nearly equal numbers of cells.
/// The results of an analysis depend on the boxes, not on their owners, so they are the same on both sides.
mesh::Layout dealt(const mesh::Layout& layout, int ranks);
std::vector<mesh::Layout> dealt(std::span<const mesh::Layout> levels, int ranks);

}  // namespace sidestream::couple
