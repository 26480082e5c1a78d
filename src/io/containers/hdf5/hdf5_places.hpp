#pragma once

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// A driver of HDF5 for files whose chunks are given their places by one rank and written by all: what HDF5 writes of
// chunks is told and left out, everything else goes to a file.

/// Makes `access`, for a new file, work by this driver.
void give_places_only(hid_t access);

/// While one lives, HDF5 writes chunks of the file, which was made by the driver.
class PlacedChunks {
 public:
  explicit PlacedChunks(hid_t file);
  ~PlacedChunks();
  PlacedChunks(const PlacedChunks&) = delete;
  /// Where each chunk begins that was written until now.
  const std::vector<std::int64_t>& places() const { return places_; }

 private:
  void* file_;
  std::vector<std::int64_t> places_;
};

}  // namespace sidestream::io
