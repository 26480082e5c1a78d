#pragma once

#include <deque>
#include <vector>

#include "sidestream/io/file_content.hpp"

namespace sidestream::io {

/// A `FileContent` together with fields and numbers that it points to. Move-only; moving leaves them where they are.
struct OwnedContent {
  FileContent content;
  std::deque<mesh::Field<double>> fields;
  std::deque<mesh::Particles> particles;
  std::deque<std::vector<double>> reals;
};

/// A copy of all that `content` names (owned cells only), which stays as it is while the simulation goes on. Local.
OwnedContent copy_of(const FileContent& content);

}  // namespace sidestream::io
