#include "comm/abandoned_memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <vector>

namespace sidestream::comm {

namespace fs = std::filesystem;

namespace {

constexpr std::time_t oldest_of_the_living_s = 60;  // a job that starts makes its files before it maps them

// "vader_segment.HOST.USER.JOB.RANK": of Open MPI 4, with another first word of Open MPI 5.
bool is_named_ours(std::string_view name) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return false;
  const std::string_view whole(host.data());
  for (const std::string_view machine : {whole, whole.substr(0, whole.find('.'))})
    for (const std::string_view word : {"vader_segment", "sm_segment"}) {
      const std::string begin = fmt::format("{}.{}.{}.", word, machine, ::geteuid());
      if (!name.starts_with(begin)) continue;
      const std::string_view rest = name.substr(begin.size());
      const auto dot = rest.find('.');
      constexpr std::string_view hexadecimal = "0123456789abcdef", decimal = "0123456789";
      if (dot != std::string_view::npos && dot > 0 && dot + 1 < rest.size() &&
          rest.substr(0, dot).find_first_not_of(hexadecimal) == std::string_view::npos &&
          rest.substr(dot + 1).find_first_not_of(decimal) == std::string_view::npos)
        return true;
    }
  return false;
}

std::vector<std::string> candidates_in(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    struct stat status {};
    if (is_named_ours(entry->path().filename().string()) && ::lstat(path.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && status.st_uid == ::geteuid() &&
        std::time(nullptr) - status.st_mtime > oldest_of_the_living_s)
      found.push_back(path);
  }
  return found;
}

// The first process of a machine or container, which shows nothing to those with fewer rights, is no rank, unless it is
// called like one.
bool is_init(const std::string& process) {
  std::ifstream file("/proc/" + process + "/comm");
  std::string command;
  std::getline(file, command);
  return process == "1" && !command.empty() && !command.starts_with("sidestream") && !command.starts_with("python");
}

// What the processes of this user have mapped, one text; nothing where one of them does not show it.
std::optional<std::string> mapped_files() {
  std::string all;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    struct stat status {};
    if (::stat(entry->path().c_str(), &status) != 0 || status.st_uid != ::geteuid()) continue;
    std::ifstream maps(entry->path() / "maps");
    const bool is_readable = maps.is_open();
    for (std::string line; std::getline(maps, line);)
      if (const auto path = line.find('/'); path != std::string::npos) all += line.substr(path) + "\n";
    // A process that ended meanwhile has mapped nothing.
    if (!is_readable && !is_init(name) && fs::exists(entry->path(), error)) return std::nullopt;
  }
  return error ? std::nullopt : std::optional(all);
}

}  // namespace

std::size_t remove_abandoned_memory(const std::string& folder) {
  const std::vector<std::string> candidates = candidates_in(folder);
  if (candidates.empty()) return 0;
  const std::optional<std::string> mapped = mapped_files();
  if (!mapped) return 0;
  return static_cast<std::size_t>(std::ranges::count_if(candidates, [&](const std::string& path) {
    return mapped->find(path + "\n") == std::string::npos && ::unlink(path.c_str()) == 0;
  }));
}

}  // namespace sidestream::comm
