#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace sidestream::io {

/// While it lives, what this thread reads of a file (or of the files of a folder) is asked of the one that is read next
/// too, at the same places: the system brings it into memory while this one is worked on, and who reads it then need
/// not wait for the disk. Of files of other lengths places are taken in proportion. Only a hint: what cannot be had is
/// left to who reads it. Lives at most as long as the one that was there before.
class ReadAhead {
 public:
  /// Nothing is asked for where `next` is empty, and nothing more than `most_bytes`: who is asked for more than fits
  /// into memory reads all of it twice.
  ReadAhead(std::string now, std::string next, std::int64_t most_bytes = quarter_of_memory_of_a_core());
  ~ReadAhead();
  ReadAhead(const ReadAhead&) = delete;

  /// Some of a file of `size_bytes` was read.
  void note(const std::string& path, std::int64_t size_bytes, std::int64_t offset, std::int64_t bytes);
  /// That of this thread; null: none.
  static ReadAhead* current();
  static std::int64_t quarter_of_memory_of_a_core();

 private:
  struct File {
    int descriptor = -1;
    std::int64_t size_bytes = 0;
  };
  const File& opened(const std::string& path);

  std::string now_, next_;
  std::int64_t left_bytes_;
  std::map<std::string, File> files_;
  ReadAhead* before_;
};

}  // namespace sidestream::io
