#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "io/arrays/memory_file.hpp"
#include "io/disk/commit_record.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// What is small in a file of arrays, kept in memory until it is written at once: of each part of the file between two
/// large arrays all that is not zero, in one piece.
class TableImage {
 public:
  TableImage() = default;
  /// What was written to `file`, which is `end` long, outside `arrays` (ascending), with room for what comes to
  /// `later` places there.
  TableImage(const MemoryFile& file, const std::vector<ByteRange>& arrays, const std::vector<ByteRange>& later,
             std::int64_t end);

  /// Puts bytes in a place of `later`.
  void put(std::int64_t offset, std::span<const std::byte> bytes);
  /// The bytes from `offset` on, zero where nothing was written.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// Puts `bytes` behind the end of the file.
  void append(std::span<const std::byte> bytes);
  /// One write for each piece.
  void write_to(OutputFile& file) const;

 private:
  struct Piece {
    std::int64_t offset = 0;
    std::vector<std::byte> bytes;
    std::int64_t end() const { return offset + static_cast<std::int64_t>(bytes.size()); }
  };
  std::vector<Piece> pieces_;  // ascending
  std::int64_t end_ = 0;       // of the file
};

}  // namespace sidestream::io
