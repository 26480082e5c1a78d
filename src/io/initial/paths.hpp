#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace sidestream::io {

// What cannot be looked at, as a link that leads to itself, is no error here: whoever opens it says what is wrong.

/// Whether a folder has this name, whatever it leads to.
inline bool has_entry(const std::filesystem::path& path) {
  std::error_code error;
  const auto type = std::filesystem::symlink_status(path, error).type();
  return type != std::filesystem::file_type::not_found && type != std::filesystem::file_type::none;
}

inline bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace sidestream::io
