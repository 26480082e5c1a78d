#pragma once

#include <string>

#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// Says among the texts of a file that its boxes cover a part of the domain, and whose.
inline const std::string sparse_text = "sparse";

/// Whether the boxes of a file cover a part of the domain, and are meant to. What is read of cells that no box has is
/// NaN.
inline bool is_sparse(const FileDescription& file) {
  return file.state.texts.contains(sparse_text);
}

}  // namespace sidestream::io
