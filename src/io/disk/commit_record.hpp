#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sidestream::io {

// The last bytes of a file of ours, behind what its format knows of: where the large arrays are, and the checksum of
// everything else. A file without its record is not complete; one whose tables differ from it is damaged.

struct ByteRange {
  std::int64_t offset = 0, bytes = 0;
};

/// Fills bytes from an offset of a file on.
using ReadBytes = std::function<void(std::int64_t offset, std::span<std::byte> bytes)>;

/// Bytes that a record of so many arrays takes.
std::int64_t record_bytes(std::size_t arrays);

/// The record of a file whose arrays lie in `arrays` (ascending) and which is complete at `end`, where the record
/// begins. `read` gives the bytes that lie in no array. Local.
std::vector<std::byte> commit_record(const std::vector<ByteRange>& arrays, std::int64_t end, const ReadBytes& read);

}  // namespace sidestream::io
