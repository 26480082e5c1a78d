#pragma once

#include <cstdint>
#include <string>

#include "io/content/file_content.hpp"
#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// How the numbers of a box are stored.
struct FabHeader {
  mesh::Box box;
  int components = 0;
  bool is_double = true, is_big_endian = false;
  std::int64_t data_offset = 0;  ///< of the first number in the file
  std::string line{};            ///< as it stands there

  std::int64_t real_bytes() const { return is_double ? 8 : 4; }
};

/// The line of text before the numbers of a box of a plot file, in the byte order of this machine (little-endian).
std::string fab_line(const mesh::Box& box, int components, Precision precision);

/// Reads the line at `offset`; throws core::Error naming file and offset for anything else.
FabHeader read_fab_header(const InputFile& file, std::int64_t offset);

/// The numbers of one component of a box as they are stored, x fastest; the same as doubles.
std::vector<std::byte> read_fab_bytes(const InputFile& file, const FabHeader& header, int component);
std::vector<double> read_fab_component(const InputFile& file, const FabHeader& header, int component);

/// Converts `count` stored reals to doubles.
void reals_to_doubles(const std::byte* reals, bool is_double, bool is_big_endian, std::int64_t count, double* out);

/// "((0,0,0) (15,15,15) (0,0,0))": first cell, last cell, centring.
std::string fab_box(const mesh::Box& box);

}  // namespace sidestream::io
