#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/disk/commit_record.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// A file in memory (below /dev/shm; among temporary files where there is none) that other libraries open by
/// its path: what they write there does not fail for want of disk, and they hide no error. Room that was never written
/// to takes no memory. Move-only; gone at the end of its life.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(MemoryFile&& other) noexcept;
  MemoryFile& operator=(MemoryFile&&) = delete;

  const std::string& path() const { return path_; }
  std::int64_t size_bytes() const;
  /// Throws core::Error, of the file `where`, where no file here may be so long. Empties it.
  void require_length(std::int64_t bytes, const std::string& where) const;
  /// The parts that were written to, ascending; whole pages of memory.
  std::vector<ByteRange> written() const;
  /// Fills `bytes` from `offset` on, with zeros behind the end.
  void read(std::int64_t offset, std::span<std::byte> bytes) const;
  /// Writes what was written here to the same places of `file`, a new one, which is as long afterwards.
  void copy_to(OutputFile& file) const;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace sidestream::io
