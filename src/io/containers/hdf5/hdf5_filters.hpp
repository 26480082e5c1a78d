#pragma once

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// Filters of HDF5 that its library does not have: those of `core::compressors()`, under their registered numbers
// (The HDF Group, registered filter plugins). Whoever has the plugins reads what we write, and we read theirs.

inline constexpr H5Z_filter_t zfp_filter = 32013, zstd_filter = 32015;

/// Makes HDF5 know the filters of this build, so that it looks for no plugin. Once a process; under `QuietHdf5`.
void register_filters();

/// The filters that `creation`, of a dataset, goes through: those of the choice, then those of chunks that are exact.
void set_filters(hid_t creation, const Chunks& chunks);
/// The filters that a chunk of such a dataset leaves out, as HDF5 counts them: bit f for the filter f.
std::uint32_t left_out_filters(const Chunks& chunks, std::size_t chunk);

}  // namespace sidestream::io
