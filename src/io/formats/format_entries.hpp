#pragma once

#include "sidestream/io/format.hpp"

namespace sidestream::io {

// One function a format, in the file that writes it; `formats` lists them.

Format enzo_format();
Format enzo_hdf5_format();
Format vtkhdf_format();
Format sidestream_format();
Format flash_format();
Format flash_5d_format();
Format flash_netcdf_format();
Format flash_netcdf_5d_format();
Format nyx_format();
Format raw_format();
Format files_format();

}  // namespace sidestream::io
