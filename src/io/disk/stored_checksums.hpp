#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// So many of a table of checksums are read next by who has `asked` for so many: as many again, since who has a block
/// or two shall not read what others need.
inline std::int64_t next_checksums(std::int64_t asked, std::int64_t most) {
  constexpr std::int64_t least = 32;
  return std::clamp(asked, least, most);
}

/// Checksums of 64 bits that a file has in an array, read up to some thousand at a time. For one thread at a time.
class StoredChecksums {
 public:
  /// Number `number` of the `count` of the array that begins at `offset`.
  std::uint64_t at(const InputFile& file, std::int64_t offset, std::int64_t number, std::int64_t count) {
    constexpr std::int64_t most = 4096;
    const std::int64_t wanted = offset + number * 8;
    const std::int64_t next = next_checksums(asked_++, most);
    if (wanted < begin_ || wanted + 8 > begin_ + std::ssize(numbers_) * 8 || (wanted - begin_) % 8 != 0) {
      numbers_.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count - number, 1, next)));
      file.read(wanted, std::as_writable_bytes(std::span(numbers_)));
      begin_ = wanted;
    }
    return numbers_[static_cast<std::size_t>((wanted - begin_) / 8)];
  }

 private:
  std::int64_t begin_ = 0, asked_ = 0;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace sidestream::io
