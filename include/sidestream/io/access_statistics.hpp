#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

/// What a rank did to files: how often, how much, in what sizes, how long. The counts and bins are those of Darshan
/// (Carns et al. 2011, ACM Trans. Storage 7, 8), so that the two can be compared.
struct AccessStatistics {
  static constexpr std::size_t bins = 10;
  /// Largest sizes in the bins [bytes]; the last bin has none. K, M and G are powers of 1024.
  static constexpr std::array<std::int64_t, bins - 1> bin_ends{100,     1 << 10,  10 << 10,  100 << 10, 1 << 20,
                                                               4 << 20, 10 << 20, 100 << 20, 1 << 30};

  std::int64_t files = 0;  ///< opened
  std::int64_t writes = 0, reads = 0, bytes_written = 0, bytes_read = 0;
  std::int64_t sequential = 0;   ///< writes behind the last byte of the one before since the file was opened, first 0
  std::int64_t consecutive = 0;  ///< of these, writes that begin just there
  std::int64_t unaligned = 0;    ///< writes that begin within a unit of the file system (its `st_blksize`)
  std::array<std::int64_t, bins> write_sizes{}, read_sizes{};
  double metadata_s = 0.0;  ///< opening, reserving, renaming, headers
  double data_s = 0.0;      ///< writing and reading
  double sync_s = 0.0;      ///< bringing to the disk
  double verify_s = 0.0;    ///< reading back what was just written, to compare
  double exchange_s = 0.0;  ///< moving data between ranks before they are written, where this rank is busy with it
  double copy_s = 0.0;      ///< packing rows, and putting what came to its place
  double wait_s = 0.0;      ///< until what was sent has arrived
  /// Of buffers beside the state that is written, at most.
  std::int64_t memory_bytes = 0;
  std::int64_t stripes = 0;      ///< that were asked for and given
  std::string chosen{};          ///< by the method `tuned`: its way of writing
  std::string chosen_because{};  ///< and why: "the fastest in 8 trials"

  void add_write(std::int64_t bytes);
  void add_read(std::int64_t bytes);
  AccessStatistics& operator+=(const AccessStatistics& other);
};

/// Over all ranks: counts are summed, times and memory are the largest of a rank. Collective.
AccessStatistics total(const comm::Communicator& comm, const AccessStatistics& own);

/// With the bins by name: {"writes": 40, "write_sizes": {"1M-4M": 40}, "data_s": 0.02, ...}; zeros are left out of the
/// bins.
nlohmann::json to_json(const AccessStatistics& statistics);

/// "<100", "100-1K", ... ">1G".
std::string_view bin_name(std::size_t bin);

}  // namespace sidestream::io
