#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sidestream::core {

/// Whether all of a text is UTF-8, as what users give has to be.
bool is_utf8(std::string_view text);

/// A file that a user names to be read: what messages call it, what to do where it is none, and how large it may be.
struct InputFile {
  std::string noun;  ///< with its article: "the table of the spectrum"
  std::string hint = "give the path of a file";
  std::uint64_t most_bytes = std::uint64_t{64} << 20;  ///< of what is read as a whole
};

/// What `path` is, links followed: "a folder", "a named pipe", "a device", "a socket"; "" for a regular file and for
/// what cannot be looked at. Opens nothing and never waits.
std::string kind_of_no_file(const std::string& path);

/// Throws an Error unless `path` is a regular file that can be opened for reading; opens it without waiting, so that a
/// pipe that nobody writes stalls nobody. For files that a library opens then, of any size. Local.
void check_input_file(const std::string& path, const InputFile& file);

/// All that the regular file at `path` holds. Throws an Error where `check_input_file` would, where more than
/// `file.most_bytes` are in it, and where reading fails. Local.
std::string read_input_file(const std::string& path, const InputFile& file);

}  // namespace sidestream::core
