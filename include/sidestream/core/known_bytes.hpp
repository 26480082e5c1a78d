#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sidestream::core {

/// What is known of files without a look at them: their lengths, and bytes that this rank or another has read.
class KnownBytes {
 public:
  /// More than this is not kept.
  static constexpr std::int64_t most_bytes = std::int64_t{64} << 20;

  void add(const std::string& path, std::int64_t size_bytes);
  /// Bytes of a file that was added, from `offset` on.
  void add(const std::string& path, std::int64_t offset, std::span<const std::byte> bytes);

  bool has(const std::string& path) const { return files_.contains(path); }
  std::int64_t size_bytes(const std::string& path) const { return files_.at(path).size_bytes; }
  /// Fills `out` from `offset` on; false where not all of these bytes are known.
  bool copy(const std::string& path, std::int64_t offset, std::span<std::byte> out) const;

  /// As bytes for other ranks, and back.
  std::vector<std::byte> packed() const;
  static KnownBytes unpacked(std::span<const std::byte> bytes);

 private:
  struct File {
    std::int64_t size_bytes = 0;
    std::map<std::int64_t, std::vector<std::byte>> pieces;  // by offset; none touches the next
  };
  std::map<std::string, File> files_;
  std::int64_t total_bytes_ = 0;
};

/// While it lives, what this thread reads of files is kept in `into`.
class KeepingReads {
 public:
  explicit KeepingReads(KnownBytes& into);
  ~KeepingReads();
  KeepingReads(const KeepingReads&) = delete;
};

/// While it lives, this thread has `known` before it looks at the disk; files that it opens meanwhile have it for good.
class AnsweringReads {
 public:
  explicit AnsweringReads(std::shared_ptr<const KnownBytes> known);
  ~AnsweringReads();
  AnsweringReads(const AnsweringReads&) = delete;

 private:
  std::shared_ptr<const KnownBytes> before_;
};

/// What the two have set for this thread; null: nothing.
KnownBytes* kept_reads();
const std::shared_ptr<const KnownBytes>& answered_reads();

}  // namespace sidestream::core
