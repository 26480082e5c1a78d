#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
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

/// What the sidecars must know of a publish beyond its fields.
struct Announcement {
  std::int64_t number = 0;          ///< counts the publishes of a run
  std::vector<std::size_t> tasks;   ///< to run, indices into the configuration
  std::vector<FieldLabel> fields;   ///< in the order of the data
  std::vector<std::int64_t> bytes;  ///< of all levels, charged to each task
};

nlohmann::json to_message(const mesh::Layout& layout);
mesh::Layout layout_from(const nlohmann::json& message);

/// The layouts of all levels, of which only those that are not in `known` travel.
nlohmann::json to_message(std::span<const mesh::Layout> levels, std::span<const mesh::Layout> known);
/// Takes the place of what was `known` before.
std::vector<mesh::Layout> levels_from(const nlohmann::json& message, std::vector<mesh::Layout> known);

/// The announcement, and of the snapshot all but layouts, fields and particles.
nlohmann::json to_message(const Announcement& announcement, const mesh::Snapshot& snapshot);
Announcement announcement_from(const nlohmann::json& message);
mesh::Snapshot snapshot_from(const nlohmann::json& message);

/// The boxes of `layout` dealt to `ranks` ranks: contiguous pieces of their order with nearly equal numbers of cells.
/// The results of an analysis depend on the boxes, not on their owners, so they are the same on both sides.
mesh::Layout dealt(const mesh::Layout& layout, int ranks);
std::vector<mesh::Layout> dealt(std::span<const mesh::Layout> levels, int ranks);

}  // namespace sidestream::couple
