#include "sidestream/core/machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <limits>
#include <optional>
#include <vector>

namespace sidestream::core {

namespace {

std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0.0;
  return file >> number ? std::optional(number) : std::nullopt;  // "max" is none
}

// Behind a name that begins a line.
std::optional<double> number_named(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word)
    if (double number = 0.0; word == name && file >> number) return number;
  return std::nullopt;
}

// What a group of processes may still take: what is kept of files is given back when memory is short.
std::optional<double> room_of_group(const std::string& folder) {
  struct Files {
    const char *limit, *used;
    std::array<const char*, 3> kept;
  };
  for (const auto& [limit, used, kept] :
       {Files{"/memory.max", "/memory.current", {"inactive_file", "active_file", "slab_reclaimable"}},
        Files{"/memory.limit_in_bytes", "/memory.usage_in_bytes", {"total_inactive_file", "total_active_file", ""}}}) {
    const auto most = number_in(folder + limit), taken = number_in(folder + used);
    if (!most || !taken) continue;
    double given_back = 0.0;
    for (const char* name : kept) given_back += number_named(folder + "/memory.stat", name).value_or(0.0);
    return std::max(0.0, *most - *taken + given_back);
  }
  return std::nullopt;
}

// Where the limits of this process may be: of its own group, by both versions of the system's interface, and of all.
std::vector<std::string> group_folders(const std::string& system) {
  const std::string root = system + "/sys/fs/cgroup";
  std::vector<std::string> folders{root, root + "/memory"};
  std::ifstream groups(system + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto path = line.rfind(':');
    if (path == std::string::npos) continue;
    if (line.starts_with("0::")) folders.push_back(root + line.substr(path + 1));
    if (line.find(":memory:") != std::string::npos) folders.push_back(root + "/memory" + line.substr(path + 1));
  }
  return folders;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  return host.data();
}

std::string present_time() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  return text.data();
}

double available_memory_bytes(const std::string& system) {
  constexpr double kibibyte = 1024.0, unknown = std::numeric_limits<double>::infinity();
  double least = number_named(system + "/proc/meminfo", "MemAvailable:").value_or(unknown) * kibibyte;
  for (const std::string& folder : group_folders(system))
    least = std::min(least, room_of_group(folder).value_or(unknown));
  return least;
}

}  // namespace sidestream::core
