#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sidestream/mesh/field.hpp"

namespace sidestream::mesh {

/// Pixels, each with its red in the lowest byte, then green, blue and how opaque it is; row 0 is the topmost.
using Pixels = Field<std::int32_t>;

/// A picture of any size, made a part at a time, so that nobody ever holds all of it.
struct Picture {
  std::string name;  ///< of its files
  std::int32_t columns = 0, rows = 0;
  bool is_opaque = true;        ///< whether all pixels are
  bool in_rectangles = false;   ///< ranks share it in rectangles, else in columns
  bool has_pyramid = true;      ///< written as tiles of all resolutions,
  bool is_whole = false;        ///< as one file,
  std::int32_t frame_side = 0;  ///< and as one with no side longer than this, for a movie; 0: not
  std::int64_t step = 0;
  double time = 0.0;
  /// The pixels of this rank's boxes of a layout whose domain is `pixels()`. Collective.
  std::function<Pixels(const Layout& parts)> paint{};

  Box pixels() const { return domain_of({columns, rows, 1}); }
};

}  // namespace sidestream::mesh
