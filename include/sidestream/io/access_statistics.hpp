#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// What a rank did to files: how often, how much, in what sizes, how long. The counts and bins are those of Darshan
/// (Carns et al. 2011, ACM Trans. Storage 7, 8), so that the two can be compared.
struct AccessStatistics {
  static constexpr std::size_t bins = 10;
  /// Upper ends of the bins of sizes [bytes]; the last bin has none.
  static constexpr std::array<std::int64_t, bins - 1> bin_ends{
      100, 1'000, 10'000, 100'000, 1'000'000, 4'000'000, 10'000'000, 100'000'000, 1'000'000'000};

  std::int64_t files = 0;  ///< opened
  std::int64_t writes = 0, reads = 0, bytes_written = 0, bytes_read = 0;
  std::int64_t sequential = 0;   ///< accesses behind the end of the one before in the same file
  std::int64_t consecutive = 0;  ///< of these, accesses that begin just there
  std::array<std::int64_t, bins> write_sizes{}, read_sizes{};
  double metadata_s = 0.0;  ///< opening, reserving, renaming, headers
  double data_s = 0.0;      ///< writing and reading
  double sync_s = 0.0;      ///< bringing to the disk
  double verify_s = 0.0;    ///< reading back what was just written, to compare
  double exchange_s = 0.0;  ///< packing, and moving data between ranks before they are written

  void add_write(std::int64_t bytes);
  void add_read(std::int64_t bytes);
  AccessStatistics& operator+=(const AccessStatistics& other);
};

/// Over all ranks: counts are summed, times are those of the slowest rank. Collective.
AccessStatistics total(const comm::Communicator& comm, const AccessStatistics& own);

/// With the bins by name: {"writes": 40, "write_sizes": {"1M-4M": 40}, "data_s": 0.02, ...}; zeros are left out of the
/// bins.
nlohmann::json to_json(const AccessStatistics& statistics);

/// "<100", "100-1K", ... ">1G".
std::string_view bin_name(std::size_t bin);

}  // namespace sidestream::io
