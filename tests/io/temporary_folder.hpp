#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::test {

/// A new folder of one test, the same on all ranks of `comm`, removed at the end. Collective.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const comm::Communicator& comm) : comm_(comm) {
    std::string name = (std::filesystem::temp_directory_path() / "sidestream_io_XXXXXX").string();
    if (comm.rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    path_ = comm.broadcast(name);
  }
  ~TemporaryFolder() {
    comm_.barrier();
    std::error_code ignored;
    if (comm_.rank() == 0 && !path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  const comm::Communicator& comm_;
  std::string path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline void overwrite(const std::string& path, const std::string& content) {
  std::filesystem::remove(path);  // some file systems flush a file that is truncated and written again
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

/// Halves the largest of the files in the folder `path`, or the file `path`.
inline void cut_largest_file(const std::string& path) {
  namespace fs = std::filesystem;
  fs::path largest = path;
  if (fs::is_directory(path)) {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file() && entry.file_size() > bytes) {
        largest = entry.path();
        bytes = entry.file_size();
      }
  }
  fs::resize_file(largest, fs::file_size(largest) / 2);
}

/// Number of files and folders directly in `folder`.
inline int entries_of(const std::string& folder) {
  return static_cast<int>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

}  // namespace sidestream::test
