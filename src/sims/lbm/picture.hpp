#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/core/config.hpp"

namespace sidestream::sims {

/// Which cells of a plane are dark in a picture: a pixel a cell, the lowest row of the picture that of y = 0.
struct Picture {
  std::int32_t width = 0, height = 0;
  std::vector<std::uint8_t> dark;  ///< x fastest

  bool is_dark(std::int32_t i, std::int32_t j) const {
    return dark[static_cast<std::size_t>(j) * static_cast<std::size_t>(width) + static_cast<std::size_t>(i)] != 0;
  }
  /// From the lowest to the highest row with a dark pixel; 0: nothing is dark.
  std::int32_t dark_rows() const;
};

/// The PNG file `path`, that is named at `node`, of so many pixels: dark is what is opaque by half and darker than half
/// of white (Rec. 709). Throws core::Error where it is no such file, or has another size.
Picture read_picture(const std::string& path, const core::Node& node, std::int32_t width, std::int32_t height);

}  // namespace sidestream::sims
