#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "io/content/file_content.hpp"

namespace sidestream::io {

/// Where the data of a box are: the file and the offset, and how many particles if it is they.
struct NyxBoxRecord {
  std::int32_t box = 0, file = 0;
  std::int64_t offset = 0, count = 0;
};

/// What is known of a field in a box once it was written.
struct NyxFieldRecord {
  double lowest = 0.0, highest = 0.0;
  std::uint64_t checksum = 0;  ///< XXH3 of the data
};

/// Of a level, in the order of the layout's boxes. `fields` has one entry a box and field; `particles` and their
/// checksums are empty where there are none.
struct NyxLevelTable {
  std::vector<NyxBoxRecord> boxes;
  std::vector<NyxFieldRecord> fields;
  std::vector<NyxBoxRecord> particles;
  std::vector<std::uint64_t> particle_checksums;
};

/// The line of `job_info` by which a folder of ours is known that has lost its seal.
inline constexpr const char* nyx_of_ours = "Nyx-compatible plot file, written by Sidestream";

std::string nyx_level_folder(std::size_t level);

/// All small files of a folder in the format of Nyx, by name within the folder.
std::map<std::string, std::string> nyx_texts(const FileContent& content, std::span<const NyxLevelTable> levels,
                                             std::int64_t largest_id);

}  // namespace sidestream::io
