#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>

#include "couple/publish/cargo.hpp"

namespace sidestream::couple {

/// A file of this process for data that wait. It has no name, so that nothing is left of it, however the process ends.
/// One thread may put data in while another takes some out.
class SpillFile {
 public:
  /// In `folder`, which is made if need be. Throws core::Error.
  explicit SpillFile(const std::string& folder);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;

  /// Returns the place of `words` in the file. Throws core::Error when the disk does not take them: then they are not
  /// there.
  std::int64_t put(std::span<const Word> words);
  /// Fills `words` with what was put at `place`, and frees the disk. Throws core::Error.
  void take(std::int64_t place, std::span<Word> words);
  /// Frees it without reading.
  void forget(std::int64_t place, std::size_t words);

 private:
  std::string folder_;
  int file_ = -1;
  std::mutex mutex_;  // of what follows
  std::int64_t end_ = 0, pieces_ = 0;
};

}  // namespace sidestream::couple
