#pragma once

#include <string>

namespace sidestream::io {

inline constexpr const char* flash_record = "commit record";

/// The name of a dataset of FLASH's HDF5 files in its netCDF files.
std::string flash_netcdf_name(const std::string& hdf5_name);

}  // namespace sidestream::io
