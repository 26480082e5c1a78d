#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "couple/publish/announcement.hpp"
#include "sidestream/mesh/snapshot.hpp"

// The messages between the groups, as they are packed into JSON. What comes out of one is checked: a message that is
// damaged, or of another program, is a core::Error.
namespace sidestream::couple {

nlohmann::json to_message(const mesh::Layout& layout);
/// Its boxes lie in its domain and belong to ranks below `ranks`; whether they overlap is not looked at.
mesh::Layout layout_from(const nlohmann::json& message, int ranks);

/// The layouts of all levels, of which only those that are not in `known` travel.
nlohmann::json to_message(std::span<const mesh::Layout> levels, std::span<const mesh::Layout> known);
/// Takes the place of what was `known` before. The boxes belong to ranks below `ranks`.
std::vector<mesh::Layout> levels_from(const nlohmann::json& message, std::vector<mesh::Layout> known, int ranks);

nlohmann::json to_message(const ParticleLabel& particles);
ParticleLabel particle_label_from(const nlohmann::json& message);

/// The announcement, and of the snapshot all but layouts, fields and particles.
nlohmann::json to_message(const Announcement& announcement, const mesh::Snapshot& snapshot);
/// Of tasks below `tasks`, and files below `files`.
Announcement announcement_from(const nlohmann::json& message, std::size_t tasks, std::size_t files = 0);
mesh::Snapshot snapshot_from(const nlohmann::json& message);

/// A message as bytes that keep every number to the bit.
std::string packed(const nlohmann::json& message);
nlohmann::json unpacked(std::string_view bytes);

/// The boxes of `layout` dealt to `ranks` ranks: contiguous pieces of their order with nearly equal numbers of cells.
/// The results of an analysis depend on the boxes, not on their owners, so they are the same on both sides.
mesh::Layout dealt(const mesh::Layout& layout, int ranks);
std::vector<mesh::Layout> dealt(std::span<const mesh::Layout> levels, int ranks);

}  // namespace sidestream::couple
