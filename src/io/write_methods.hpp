#pragma once

#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

// One function a method, in a file of its own below `methods/`; `write_methods` lists them.

/// Own engine: each rank writes what it has where that is large, else as `aggregated`.
WriteMethod engine_method();
/// Own engine, through aggregators.
WriteMethod aggregated_method();
/// The fastest of these, as `tuned_writing` finds it.
WriteMethod tuned_method();

/// Parallel HDF5, array by array, packed: independent or collective transfers.
WriteMethod hdf5_independent_method();
WriteMethod hdf5_collective_method();
/// Parallel HDF5, collective, by selections out of blocks with ghost cells.
WriteMethod hdf5_strided_method();

/// PnetCDF, packed: a call a variable; requests that one call completes; the same with a buffer attached to the file.
WriteMethod pnetcdf_blocking_method();
WriteMethod pnetcdf_nonblocking_method();
WriteMethod pnetcdf_buffered_method();

/// MPI-IO at known places: packed, each rank for itself or a group in one collective call; collective out of blocks
/// with ghost cells by derived datatypes.
WriteMethod mpiio_independent_method();
WriteMethod mpiio_collective_method();
WriteMethod mpiio_derived_method();

}  // namespace sidestream::io
