#pragma once

namespace sidestream::io {

// The names by which netCDF-4 marks what HDF5 has no word for.
constexpr const char* only_a_dimension = "This is a netCDF dimension but not a netCDF variable.";
constexpr const char* not_a_coordinate =
    "_nc4_non_coord_";  // prefix of a variable that has a dimension's name by chance
constexpr const char* dimension_id = "_Netcdf4Dimid";
constexpr const char* provenance = "_NCProperties";

// Those by which a result file tells of distributed columns: 1 on the scale of a distributed dimension, the checksum of
// all rows on each of its columns.
constexpr const char* distributed_mark = "distributed";
constexpr const char* rows_checksum = "rows_checksum";

// In the provenance: a commit record ends the file, so that one without it was damaged.
constexpr const char* record_promise = "record=1";

}  // namespace sidestream::io
