#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/io/access_statistics.hpp"

namespace sidestream::io {

// The last bytes of a file of ours, behind what its format knows of: where the large arrays are, and the checksum of
// everything else. A file without its record is not complete; one whose tables differ from it is damaged.

struct ByteRange {
  std::int64_t offset = 0, bytes = 0;
};

/// Bytes that a record of so many arrays takes at most.
std::int64_t most_record_bytes(std::size_t arrays);

/// Closes the file at `path`, whose arrays lie in `arrays` (ascending) and which is complete at `end`, with its record;
/// room that was reserved beyond is given back. Local.
AccessStatistics append_commit_record(const std::string& path, const std::vector<ByteRange>& arrays, std::int64_t end);

}  // namespace sidestream::io
