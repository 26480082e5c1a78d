#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sidestream::io {

// What closes a file of ours: where the large arrays are, and the checksum of everything else. A file without its
// record is not complete; one whose tables differ from it is damaged. It stands with the tables, so that both are one
// write, or in the last bytes of the file, behind what its format knows of.

struct ByteRange {
  std::int64_t offset = 0, bytes = 0;
};

/// Fills bytes from an offset of a file on.
using ReadBytes = std::function<void(std::int64_t offset, std::span<std::byte> bytes)>;

/// Bytes that a record of so many arrays takes at the end of a file.
std::int64_t record_bytes(std::size_t arrays);
/// The same inside a file, where the record itself is one of the arrays.
std::int64_t inner_record_bytes(std::size_t arrays);
/// The first byte at or behind `offset` at which a record inside a file is looked for: a multiple of 4096 with nothing
/// but zeros behind its first four binary digits. At most an eighth beyond larger offsets.
std::int64_t record_place(std::int64_t offset);

/// The record of a file whose arrays lie in `arrays` (ascending) and which is complete at `end`, where the record
/// begins. `read` gives the bytes that lie in no array. Local.
std::vector<std::byte> commit_record(const std::vector<ByteRange>& arrays, std::int64_t end, const ReadBytes& read);
/// The same for a file that ends at `end` and has its record inside.
std::vector<std::byte> inner_commit_record(const std::vector<ByteRange>& arrays, std::int64_t end,
                                           const ReadBytes& read);

}  // namespace sidestream::io
