#pragma once

#include "io/containers/hdf5/hdf5_handle.hpp"
#if __has_include(<H5FDdevelop.h>)
#include <H5FDdevelop.h>
#endif

#include <cstdint>
#include <cstring>
#include <limits>

namespace sidestream::io {

/// The file behind what HDF5 knows as an H5FD_t, which stands first in `File`.
template <typename File>
File& driven(H5FD_t* file) {
  return *reinterpret_cast<File*>(file);
}
template <typename File>
const File& driven(const H5FD_t* file) {
  return *reinterpret_cast<const File*>(file);
}

/// A driver of HDF5 for files of type `File`, which has the bytes that HDF5 has `allocated`; the `number`th of ours. It
/// opens, closes, reads and writes as it is told afterwards, and tells of itself in `get_eof` where the file ends.
template <typename File>
H5FD_class_t driver_of(const char* name, [[maybe_unused]] int number) {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(H5_VFD_RESERVED + number);
#endif
  driver.name = name;
  driver.maxaddr = static_cast<haddr_t>(std::numeric_limits<std::int64_t>::max());
  driver.fc_degree = H5F_CLOSE_WEAK;
  driver.query = [](const H5FD_t*, unsigned long* flags) {
    if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA;
    return herr_t{0};
  };
  driver.get_eoa = [](const H5FD_t* file, H5FD_mem_t) { return driven<File>(file).allocated; };
  driver.set_eoa = [](H5FD_t* file, H5FD_mem_t, haddr_t end) {
    driven<File>(file).allocated = end;
    return herr_t{0};
  };
  driver.get_handle = [](H5FD_t* file, hid_t, void** handle) {
    *handle = file;
    return herr_t{0};
  };
  constexpr H5FD_mem_t map[] = H5FD_FLMAP_DICHOTOMY;
  std::memcpy(driver.fl_map, map, sizeof map);
  return driver;
}

}  // namespace sidestream::io
