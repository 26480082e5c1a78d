#pragma once

#include <pnetcdf.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// A new CDF-5 file in define mode, made by PnetCDF on this rank alone and replacing what is there; closed at the end.
/// Failures are core::Errors naming the file.
class NetcdfHandle {
 public:
  explicit NetcdfHandle(const std::string& path);
  ~NetcdfHandle();
  NetcdfHandle(const NetcdfHandle&) = delete;

  int id() const { return id_; }
  const std::string& path() const { return path_; }
  /// Throws unless `status` of `call` is good.
  void check(int status, const char* call, const std::string& variable = "") const;
  /// Closes now, throwing when that fails.
  void close();

 private:
  std::string path_;
  int id_ = -1;
};

/// Throws a core::Error with the reason unless a call of PnetCDF succeeded.
void check_netcdf(int status, const char* call, const std::string& where);

nc_type netcdf_type(ElementType type);

}  // namespace sidestream::io
