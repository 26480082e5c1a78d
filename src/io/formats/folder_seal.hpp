#pragma once

#include <map>
#include <optional>
#include <string>

#include "io/content/file_content.hpp"
#include "sidestream/io/access_statistics.hpp"

namespace sidestream::io {

// How a folder in another code's format keeps all that Sidestream needs and shows damage: `sidestream.json` has the
// `metadata_text` and the checksums of the small files, `sidestream.commit` that of `sidestream.json`.

/// Writes the small files `texts` (by name within `folder`) and both files of the seal. Local.
AccessStatistics write_sealed_texts(const std::string& folder, const FileContent& content,
                                    const std::map<std::string, std::string>& texts, bool is_durable);

/// The `metadata_text` of a folder of ours, after all checksums of its small files were found right; nothing for a
/// folder of another code. Damage is a core::Error. Local.
std::optional<std::string> check_sealed_texts(const std::string& folder);

}  // namespace sidestream::io
