#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::io {

// The columns of a result file whose rows are spread over ranks: contiguous in the file, so that each rank writes and
// reads its own rows at a known place.

/// A distributed column as it stands in a file.
struct SpreadColumn {
  std::string name, unit, description, dimension;
  bool is_double = true;
  std::int64_t rows = 0;      ///< of all ranks
  std::int64_t offset = 0;    ///< of the first row [bytes]
  std::int64_t checksum = 0;  ///< of all rows
};

/// Whether the column has a distributed dimension.
bool is_spread(const mesh::Result& result, const mesh::Column& column);
/// The values of a column as they stand in a file.
std::span<const std::byte> bytes_of(const mesh::Column& column);

/// The sum, modulo 2^64, of a checksum for each row and its number: it does not depend on who holds which rows.
std::uint64_t checksum_of_rows(std::int64_t first, std::span<const std::byte> rows);
/// Adds up what all ranks found, element by element, modulo 2^64. Collective.
void add_checksums(const comm::Communicator& comm, std::span<std::uint64_t> sums);

/// The part of `rows` rows that rank `rank` of `ranks` is dealt, in rank order and nearly equal.
RowRange dealt_rows(std::int64_t rows, int rank, int ranks);

nlohmann::json to_message(const std::vector<SpreadColumn>& columns);
std::vector<SpreadColumn> spread_columns_from(const nlohmann::json& message);

}  // namespace sidestream::io
