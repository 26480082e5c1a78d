#pragma once

#include <string>

#include "io/content/file_content.hpp"
#include "sidestream/io/snapshot_file.hpp"

namespace sidestream::io {

/// All of `content` but fields, particles and boxes, as one JSON text: what formats keep under the name `sidestream`
/// beside their own tables, so that reading gives back every bit and every name.
std::string metadata_text(const FileContent& content);

/// Fills what `metadata_text` kept into `description` (not its path, format, levels or number of particles). Throws a
/// core::Error naming `where` for any other text.
void apply_metadata(const std::string& text, const std::string& where, FileDescription& description);

}  // namespace sidestream::io
