// In the place of `flash_netcdf.cpp` where there is no PnetCDF: such files are read, but not written.
#include "io/formats/flash/flash_header.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::io {

std::vector<std::int64_t> create_flash_netcdf(const std::string& path, const FlashHeader&, std::span<const Array>,
                                              std::span<const std::int64_t>) {
  throw core::Error("Sidestream was built without PnetCDF, which writes netCDF", path, "choose another format");
}

}  // namespace sidestream::io
