#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace sidestream::io {

// A file in parts is a folder: a master, which readers open, and parts beside it with the rows of the large arrays. The
// master keeps a seal of each part, so that none can be missing, or from another file, without being noticed.

/// The name of the master in the folder. yt tells FLASH files by such names.
inline const std::string master_name = "master.hdf5_chk";
/// The array (parts, 3) of the master that holds the seals.
inline const std::string part_seals_name = "sidestream parts";

/// Of a part in the folder: "part0.h5".
std::string part_name(std::int64_t part);
/// Whether a name is such a one, whatever else is said of it.
bool is_part_name(const std::string& name);

/// The file to open for what has the name `path`: the master of a file in parts, else `path` itself.
std::string master_of(const std::string& path);

/// What tells a part from all others: its length, and the checksum of its first bytes, all that lie before the rows of
/// its large arrays. The checksums of the rows are among them.
struct PartSeal {
  std::int64_t bytes = 0, head_bytes = 0, head_checksum = 0;
};

/// The seal of a part that is complete. Local.
PartSeal seal_of(const std::string& path, std::int64_t head_bytes);
/// Throws a core::Error naming the part unless it is there, has this seal and its commit record is good. Local.
void check_part(const std::string& path, const PartSeal& seal);

}  // namespace sidestream::io
