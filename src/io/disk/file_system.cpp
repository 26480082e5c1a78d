#include "io/disk/file_system.hpp"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>

#include "io/disk/stripes.hpp"

namespace sidestream::io {

namespace {

bool is_on_lustre(const std::string& path) {
  constexpr auto lustre_magic = 0x0BD00BD0;
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 && status.f_type == lustre_magic;
}

}  // namespace

FileSystem file_system_of(const std::string& path, bool has_stripes) {
  FileSystem system;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0)
    system.unit_bytes = std::max<std::int64_t>(system.unit_bytes, status.st_blksize);
  if (!has_stripes && !is_on_lustre(path)) return system;
  const Stripes stripes = stripes_of(path);
  system.stripes = stripes.count;
  if (stripes.bytes > 0) system.unit_bytes = stripes.bytes;
  return system;
}

}  // namespace sidestream::io
