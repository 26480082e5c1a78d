#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "sidestream/mesh/snapshot.hpp"

// The messages between the groups, as they are packed into JSON.
namespace sidestream::couple {

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

/// A message as bytes that keep every number to the bit.
std::string packed(const nlohmann::json& message);
nlohmann::json unpacked(const std::string& bytes);

/// The boxes of `layout` dealt to `ranks` ranks: contiguous pieces of their order with nearly equal numbers of cells.
/// The results of an analysis depend on the boxes, not on their owners, so they are the same on both sides.
mesh::Layout dealt(const mesh::Layout& layout, int ranks);
std::vector<mesh::Layout> dealt(std::span<const mesh::Layout> levels, int ranks);

}  // namespace sidestream::couple
