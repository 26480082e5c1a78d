#include "io/disk/file_system.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "io/disk/stripes.hpp"

namespace sidestream::io {

FileSystem file_system_of(const std::string& path, bool has_stripes) {
  FileSystem system;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    system.unit_bytes = std::max<std::int64_t>(system.unit_bytes, status.st_blksize);
  if (!has_stripes && !is_striped(path)) return system;
  const Stripes stripes = stripes_of(path);
  system.stripes = stripes.count;
  if (stripes.bytes > 0) system.unit_bytes = stripes.bytes;
  return system;
}

std::string name_of_file_system(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "unknown";
  const std::string device = fmt::format(" {}:{} ", major(status.st_dev), minor(status.st_dev));
  std::ifstream mounts("/proc/self/mountinfo");  // proc(5): ... 98:0 / /mnt rw - ext4 /dev/vda1 rw
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t place = line.find(" - ");
    if (line.find(device) > place || place == std::string::npos) continue;
    std::istringstream rest(line.substr(place + 3));
    std::string kind, source;
    rest >> kind >> source;
    return kind + " on " + source;
  }
  struct statfs system {};
  return ::statfs(path.c_str(), &system) == 0 ? fmt::format("kind {:x}", system.f_type) : "unknown";
}

}  // namespace sidestream::io
