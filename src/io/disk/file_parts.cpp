#include "io/disk/file_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "io/disk/checksum.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;

namespace {

constexpr const char *prefix = "part", *suffix = ".h5";

}  // namespace

std::string part_name(std::int64_t part) {
  return fmt::format("{}{}{}", prefix, part, suffix);
}

bool is_part_name(const std::string& name) {
  const std::string number = name.starts_with(prefix) && name.ends_with(suffix) ? name.substr(4, name.size() - 7) : "";
  return !number.empty() && std::ranges::all_of(number, [](char digit) { return digit >= '0' && digit <= '9'; });
}

std::string master_of(const std::string& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown) ? (fs::path(path) / master_name).string() : path;
}

PartSeal seal_of(const std::string& path, std::int64_t head_bytes) {
  const InputFile file(path);
  return {file.size_bytes(), head_bytes, static_cast<std::int64_t>(checksum_of(file.bytes(0, head_bytes)))};
}

void check_part(const std::string& path, const PartSeal& seal) {
  constexpr const char* hint = "bring the part back into the folder of its file, or use an earlier file";
  std::error_code unknown;
  const fs::file_status status = fs::symlink_status(path, unknown);
  if (!fs::exists(status)) throw core::Error("a part of the file is missing", path, hint);
  if (!fs::is_regular_file(status)) throw core::Error("a part of the file is no regular file", path, hint);
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, unknown));
  if (bytes != seal.bytes)
    throw core::Error(fmt::format("a part of the file has {} bytes instead of {}", bytes, seal.bytes), path, hint);
  if (!check_commit_record(path)) throw core::Error("a part of the file has no commit record", path, hint);
  if (seal_of(path, seal.head_bytes).head_checksum != seal.head_checksum)
    throw core::Error("the tables of a part are damaged, or it is the part of another file", path, hint);
}

}  // namespace sidestream::io
