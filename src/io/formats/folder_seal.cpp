#include "io/formats/folder_seal.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "io/formats/metadata.hpp"
#include "io/text/json_text.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* seal_name = "sidestream.json";
constexpr const char* commit_name = "sidestream.commit";
constexpr int seal_version = 1;

std::string checksum_text_of(std::string_view text) {
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

std::string commit_text(std::string_view seal) {
  return fmt::format("sidestream-commit {} {}\n", seal_version, checksum_text_of(seal));
}

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw core::Error(what, path, "the file is damaged; use an earlier one");
}

// A name within the folder, whatever the file says.
bool is_plain(const fs::path& name) {
  if (name.empty() || name.is_absolute()) return false;
  for (const fs::path& part : name)
    if (part == "..") return false;
  return true;
}

void check_text(const std::string& folder, const std::string& name, const std::string& checksum) {
  const std::string path = folder + "/" + name;
  if (!is_plain(name)) fail("the name of a file is not one within the folder", folder + "/" + seal_name);
  if (checksum_text_of(read_text(path)) != checksum) fail("the checksum of the file is wrong", path);
}

}  // namespace

AccessStatistics write_sealed_texts(const std::string& folder, const FileContent& content,
                                    const std::map<std::string, std::string>& texts, bool is_durable) {
  json checksums = json::object();
  for (const auto& [name, text] : texts) checksums[name] = checksum_text_of(text);
  const json seal{{"version", seal_version}, {"state", json::parse(metadata_text(content))}, {"files", checksums}};
  std::map<std::string, std::string> all = texts;
  all[seal_name] = seal.dump() + "\n";
  all[commit_name] = commit_text(all[seal_name]);
  // All files are written before the first is waited for: the system then brings them to the disk together.
  std::vector<OutputFile> files;
  for (const auto& [name, text] : all) {
    files.emplace_back(folder + "/" + name, OutputFile::Open::create);
    files.back().write(text);
  }
  AccessStatistics statistics;
  for (OutputFile& file : files) {
    if (is_durable)
      file.sync_and_close();
    else
      file.close();
    statistics += file.statistics();
  }
  return statistics;
}

std::optional<std::string> check_sealed_texts(const std::string& folder) {
  const std::string seal_path = folder + "/" + seal_name, commit_path = folder + "/" + commit_name;
  if (!fs::exists(seal_path) && !fs::exists(commit_path)) return std::nullopt;
  const std::string seal = read_text(seal_path);
  if (read_text(commit_path, 1000) != commit_text(seal))
    fail("this and `sidestream.json`, whose checksum it holds, do not fit together", commit_path);
  try {
    const json all = parse_json(seal, seal_path);
    if (all.at("version") != seal_version) fail("the file is of an unknown version", seal_path);
    for (const auto& [name, checksum] : all.at("files").items()) check_text(folder, name, checksum.get<std::string>());
    return all.at("state").dump();
  } catch (const json::exception& error) {
    fail(fmt::format("the description of the state is damaged: {}", error.what()), seal_path);
  }
}

}  // namespace sidestream::io
