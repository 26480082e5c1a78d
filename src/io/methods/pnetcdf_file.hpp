#pragma once

#include <pnetcdf.h>

#include <string>

#include "io/methods/rows.hpp"
#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// A netCDF file that is there, opened by PnetCDF for writing by all ranks (on a plain communicator of its own).
class NetcdfFile {
 public:
  /// Collective.
  explicit NetcdfFile(const ArrayWrite& work);
  /// Collective.
  ~NetcdfFile();
  NetcdfFile(const NetcdfFile&) = delete;

  int id() const { return id_; }
  const std::string& path() const { return path_; }
  /// The variable of `array`; throws unless its type and shape are those of the array.
  int variable(const Array& array, std::int64_t rows) const;
  /// Collective.
  void close();

 private:
  std::string path_;
  int id_ = -1;
};

/// The rows of a part as PnetCDF takes them: corners and lengths, one of each a range.
class NetcdfRanges {
 public:
  NetcdfRanges(const Array& array, const Part& part);
  int count() const { return static_cast<int>(starts_.size()); }
  MPI_Offset* const* starts() const { return starts_.data(); }
  MPI_Offset* const* counts() const { return counts_.data(); }

 private:
  std::vector<MPI_Offset> numbers_;
  std::vector<MPI_Offset*> starts_, counts_;
};

/// The MPI type of an element as PnetCDF knows it.
MPI_Datatype netcdf_memory_type(ElementType type);

/// Packs rows as the file has them (most significant byte first) and turns the bytes round, since PnetCDF does so
/// again.
void pack_native(const ArrayGroup& group, std::size_t array, std::span<std::byte> out);

}  // namespace sidestream::io
