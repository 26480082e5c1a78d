#pragma once

#include <map>
#include <string>

#include "sidestream/mesh/result.hpp"

namespace sidestream::io {

/// The attributes of a result: numbers and text.
using ResultAttributes = decltype(mesh::Result::attributes);

/// Writes `result` as a netCDF-4 file (HDF5 with dimension scales, no compression), atomically: the file appears
/// complete or not at all. Its folder is made if need be. A column with the name of its one dimension is a coordinate.
/// `extra` joins the result's attributes (and wins over them). Local: call it on the rank that holds the result. Throws
/// core::Error.
void write_result(const std::string& path, const mesh::Result& result, const ResultAttributes& extra = {});

/// Reads what `write_result` wrote, bit for bit. Throws core::Error naming the file when it is not a sound result file.
mesh::Result read_result(const std::string& path);

}  // namespace sidestream::io
