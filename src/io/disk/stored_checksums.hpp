#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// So many are read next of a table of checksums, after `last` of them: who goes on where these end wants many, and who
/// has a block or two shall not read what others need.
inline std::int64_t next_checksums(std::int64_t last, bool goes_on, std::int64_t most) {
  constexpr std::int64_t first = 32;
  return goes_on ? std::clamp(2 * last, first, most) : first;
}

/// Checksums of 64 bits that a file has in an array, read up to some thousand at a time. For one thread at a time.
class StoredChecksums {
 public:
  /// Number `number` of the `count` of the array that begins at `offset`.
  std::uint64_t at(const InputFile& file, std::int64_t offset, std::int64_t number, std::int64_t count) {
    constexpr std::int64_t most = 4096;
    const std::int64_t wanted = offset + number * 8;
    const std::int64_t end = begin_ + std::ssize(numbers_) * 8;
    if (wanted < begin_ || wanted + 8 > end || (wanted - begin_) % 8 != 0) {
      const std::int64_t next = next_checksums(std::ssize(numbers_), wanted == end, most);
      numbers_.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count - number, 1, next)));
      file.read(wanted, std::as_writable_bytes(std::span(numbers_)));
      begin_ = wanted;
    }
    return numbers_[static_cast<std::size_t>((wanted - begin_) / 8)];
  }

 private:
  std::int64_t begin_ = 0;
  std::vector<std::uint64_t> numbers_;
};

}  // namespace sidestream::io
