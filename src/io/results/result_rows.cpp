#include "io/results/result_rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/disk/checksum.hpp"

namespace sidestream::io {

using nlohmann::json;

bool is_spread(const mesh::Result& result, const mesh::Column& column) {
  return std::ranges::any_of(column.dimensions,
                             [&](const std::string& name) { return result.distributed.contains(name); });
}

std::span<const std::byte> bytes_of(const mesh::Column& column) {
  return std::visit([](const auto& values) { return std::as_bytes(std::span(values)); }, column.values);
}

std::uint64_t checksum_of_rows(std::int64_t first, std::span<const std::byte> rows) {
  std::uint64_t sum = 0;
  std::array<std::byte, 16> numbered{};
  for (; !rows.empty(); rows = rows.subspan(8), ++first) {
    std::memcpy(numbered.data(), &first, 8);
    std::memcpy(numbered.data() + 8, rows.data(), 8);
    sum += checksum_of(numbered);
  }
  return sum;
}

void add_checksums(const comm::Communicator& comm, std::span<std::uint64_t> sums) {
  comm::check(
      MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T, MPI_SUM, comm.raw()),
      "MPI_Allreduce");
}

RowRange dealt_rows(std::int64_t rows, int rank, int ranks) {
  const std::int64_t each = rows / ranks, more = rows % ranks;
  return {each * rank + std::min<std::int64_t>(rank, more), each + (rank < more ? 1 : 0)};
}

json to_message(const std::vector<SpreadColumn>& columns) {
  json message = json::array();
  for (const SpreadColumn& c : columns)
    message.push_back({c.name, c.unit, c.description, c.dimension, c.is_double, c.rows, c.offset, c.checksum});
  return message;
}

std::vector<SpreadColumn> spread_columns_from(const json& message) {
  std::vector<SpreadColumn> columns;
  for (const json& c : message)
    columns.push_back({c.at(0), c.at(1), c.at(2), c.at(3), c.at(4).get<bool>(), c.at(5), c.at(6), c.at(7)});
  return columns;
}

}  // namespace sidestream::io
