#pragma once

#include <cstdint>
#include <string>

namespace sidestream::io {

/// What a file system says of the file or folder at a path.
struct FileSystem {
  std::int64_t unit_bytes = 4096;  ///< in which it keeps and locks files: a stripe, or its preferred size of a transfer
  int stripes = 0;                 ///< servers that the file lies on; 0: it does not say

  /// Whether many nodes share it by locks of large units, as GPFS, Lustre or BeeGFS do. Local ones have small units.
  bool has_large_units() const { return unit_bytes >= std::int64_t{256} << 10; }
};

/// Local; costs a call of the system, and on Lustre, or where the file `has_stripes` that were asked for, its tool
/// `lfs`. Where nothing is known, the values above.
FileSystem file_system_of(const std::string& path, bool has_stripes);

/// By which the file system of the file or folder at `path` is known again: its kind and what is mounted, "ext4 on
/// /dev/vda1". Local.
std::string name_of_file_system(const std::string& path);

}  // namespace sidestream::io
