#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

#include "io/disk/commit_record.hpp"

namespace sidestream::fuzz {

/// A folder of this process for files that readers take by name; removed at the end.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "sidestream_fuzz_XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Lays `bytes` under `name`, replacing what is there, and returns the path.
  std::string put(const std::string& name, std::string_view bytes) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    return path;
  }

 private:
  std::string path_;
};

/// A folder out of an input: a line `=== NAME` before the bytes of each file. Names that would lead out of it, and
/// files beyond the first dozens, are left out.
inline std::string put_folder(const Scratch& scratch, std::string_view archive) {
  constexpr std::string_view mark = "=== ",
                             letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  constexpr int most_files = 40;
  const std::string folder = scratch / "folder";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (int files = 0; archive.starts_with(mark) && files < most_files; ++files) {
    const std::size_t line_end = std::min(archive.find('\n'), archive.size());
    const std::string_view name = archive.substr(mark.size(), line_end - mark.size());
    archive.remove_prefix(std::min(line_end + 1, archive.size()));
    const std::size_t end = std::min(archive.find("\n=== "), archive.size());
    const bool is_plain = !name.empty() && name.size() < 60 && name.front() != '/' && name.back() != '/' &&
                          name.find("..") == std::string_view::npos &&
                          name.find_first_not_of(letters) == std::string_view::npos;
    std::error_code in_the_way;  // a file where a folder is wanted
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    if (is_plain && (std::filesystem::create_directories(path.parent_path(), in_the_way), !in_the_way))
      std::ofstream(path, std::ios::binary) << archive.substr(0, end);
    archive.remove_prefix(std::min(end + 1, archive.size()));
  }
  return folder;
}

/// `bytes` with the record of a file of ours behind them, so that what they say is looked at.
inline std::string sealed(std::string bytes) {
  const auto record = io::commit_record({}, std::ssize(bytes), [&](std::int64_t offset, std::span<std::byte> out) {
    bytes.copy(reinterpret_cast<char*>(out.data()), out.size(), static_cast<std::size_t>(offset));
  });
  return bytes.append(reinterpret_cast<const char*>(record.data()), record.size());
}

}  // namespace sidestream::fuzz
