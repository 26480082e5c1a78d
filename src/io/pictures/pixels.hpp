#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sidestream/mesh/picture.hpp"

namespace sidestream::io {

using mesh::Pixels;

/// The side of the tiles of a pyramid, in pixels.
constexpr std::int32_t tile_side = 256;

/// The pixels of a box, row by row.
using Rows = std::vector<std::uint32_t>;

/// Half as large: each pixel the mean of the four it stands for (of fewer at the right and lower edge), colours by how
/// opaque they are, halves rounded up. Boxes begin at even pixels. Local.
Pixels halved(const Pixels& pixels);

/// `pixels` of a picture that is `times` halved.
mesh::Box halved(mesh::Box pixels, int times = 1);

/// How often a picture is halved until no side is longer than `longest`.
int halvings(const mesh::Box& pixels, std::int32_t longest);

/// A PNG file of the pixels of `box`, which is in block `b`.
std::string png_of(const Pixels& pixels, int b, const mesh::Box& box, bool is_opaque);

}  // namespace sidestream::io
