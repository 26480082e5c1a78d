#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/formats/flash/flash_tables.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// What the rank that makes a FLASH file is given.
struct FlashHeader {
  const FileContent& content;
  const std::string& metadata;
  bool has_particles = false;
  std::vector<std::int64_t> particles_of_blocks;  ///< of all blocks
};

/// Makes a file at `path` with all tables of FLASH and room for `arrays`; returns their places. Local.
std::vector<std::int64_t> create_flash_hdf5(const std::string& path, const FlashHeader& header,
                                            std::span<const Array> arrays, std::span<const std::int64_t> rows);
std::vector<std::int64_t> create_flash_netcdf(const std::string& path, const FlashHeader& header,
                                              std::span<const Array> arrays, std::span<const std::int64_t> rows);

}  // namespace sidestream::io
