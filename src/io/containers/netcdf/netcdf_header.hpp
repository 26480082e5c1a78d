#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sidestream/io/atomic_file.hpp"

namespace sidestream::io {

/// Types of numbers in netCDF files, by their codes there.
enum class NetcdfType : std::int32_t {
  int8 = 1,
  text = 2,
  int16 = 3,
  int32 = 4,
  float32 = 5,
  float64 = 6,
  uint8 = 7,
  uint16 = 8,
  uint32 = 9,
  int64 = 10,
  uint64 = 11
};
std::int64_t size_of(NetcdfType type);

struct NetcdfAttribute {
  NetcdfType type = NetcdfType::text;
  std::vector<std::byte> bytes;  ///< most significant first
};
using NetcdfAttributes = std::map<std::string, NetcdfAttribute>;

struct NetcdfVariable {
  NetcdfType type = NetcdfType::float64;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;   ///< of its first byte in the file
  bool has_records = false;  ///< its rows lie between those of other variables
  NetcdfAttributes attributes;
};

/// What a classic netCDF file (CDF-1, CDF-2 or CDF-5) says of itself: read without a library, since those that read it
/// in parallel leave traces in the folder and give zeros for what is behind the end of a file.
struct NetcdfHeader {
  NetcdfAttributes attributes;
  std::map<std::string, NetcdfVariable> variables;
};

/// Throws a core::Error naming file and byte for anything else; variables without records lie inside the file. Local.
NetcdfHeader read_netcdf_header(const InputFile& file);

/// Numbers of any type as doubles and integers; `bytes` as in the file.
std::vector<double> netcdf_doubles(NetcdfType type, const std::vector<std::byte>& bytes);
std::vector<std::int64_t> netcdf_integers(NetcdfType type, const std::vector<std::byte>& bytes);

}  // namespace sidestream::io
