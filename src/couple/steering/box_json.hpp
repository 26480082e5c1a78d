#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sidestream/mesh/box.hpp"

namespace sidestream::couple {

/// A box as those who steer write it: `[[0, 0, 0], [8, 8, 8]]`, x, y, z of its first cell and of its end.
nlohmann::json box_json(const mesh::Box& box);
/// Throws core::Error where it is none.
mesh::Box box_from(const nlohmann::json& corners);

/// Throws core::Error unless `cells` are some of those of `domain`.
void require_inside(const mesh::Box& cells, const mesh::Box& domain);

}  // namespace sidestream::couple
