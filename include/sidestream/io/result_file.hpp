#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::io {

/// The attributes of a result: numbers and text.
using ResultAttributes = decltype(mesh::Result::attributes);

/// Writes `result` as a netCDF-4 file (HDF5 with dimension scales, no compression), atomically: the file appears
/// complete or not at all. Its folder is made if need be. A column with the name of its one dimension is a coordinate.
/// `extra` joins the result's attributes (and wins over them). Local: call it on the rank that holds the result, of
/// which nothing is distributed. Throws core::Error.
void write_result(const std::string& path, const mesh::Result& result, const ResultAttributes& extra = {});

/// The same for a result of all ranks of `comm`: what is not distributed is written by rank 0, each rank writes its
/// rows of the distributed columns at their place. Which dimensions are distributed is kept in the file, whose bytes do
/// not depend on who held which rows. Its cut-out and its attachments, if it has any, are at `cut_out_path(path)` and
/// `attachment_path(path, ending)` before. Collective: when one rank fails, all throw its core::Error and an earlier
/// file stays.
void write_result(const comm::Communicator& comm, const std::string& path, const mesh::Result& result,
                  const ResultAttributes& extra = {});

/// The file of the cut-out of a result: a plot file of the format `vtkhdf`, sparse and in double precision, which ends
/// in ".vtkhdf" where that of the result ends in ".nc".
std::string cut_out_path(const std::string& path);

/// The file of an attachment of a result: it has another ending.
std::string attachment_path(const std::string& path, const std::string& ending);

/// Reads what `write_result` wrote, but for a cut-out and attachments, bit for bit, with all rows of distributed
/// columns. Local. Throws core::Error naming the file when it is not a sound result file.
mesh::Result read_result(const std::string& path);

/// The same on any number of ranks: what is not distributed on rank 0, and nearly equal parts of the distributed rows,
/// in their order, on all. Collective; HDF5 opens the file on rank 0 only. Throws core::Error on all ranks.
mesh::Result read_result(const comm::Communicator& comm, const std::string& path);

/// Whether a result file ends with its record, a checksum of all but the rows of distributed columns: those of earlier
/// versions do not, nor do netCDF files of others. Local. Throws core::Error naming the file when the checksum is
/// wrong, or when a record should be there.
bool has_right_record(const std::string& path);

/// The attribute `rows_checksum` of a distributed column: the sum, modulo 2^64, of XXH3 of each row's number and value
/// (8 bytes each).
std::int64_t checksum_of_all_rows(std::span<const std::byte> rows);

}  // namespace sidestream::io
