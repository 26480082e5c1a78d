#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/array_file.hpp"

namespace sidestream::io {

/// The method `tuned` for a file.
struct TunedWriting {
  WriteOptions options;  ///< with a method that writes, and what else was tuned: aggregators, buffer, stripes
  std::string name;      ///< "aggregated, 2 writers, 64 MiB, 4 stripes"
  std::string reason;    ///< of the choice: "the fastest in 8 trials"
};

/// The fastest of Sidestream's own ways of writing a file of `bytes` into the folder of `path`: as it was measured at
/// the first use, on so many ranks, for a file of this class of sizes (64 to 512 MiB, to 4 GiB, and so on by factors of
/// eight), on this file system, and kept in the file of redistribute::Wisdom that `comm` carries. `write_trial` writes
/// a file of trial, collectively, by the given options, at most eight times (where the file system has stripes, as
/// often again for them). Below 64 MiB the engine, without a trial. What `options` say of aggregators and stripes
/// stays. Collective; the same on all ranks.
TunedWriting tuned_writing(const comm::Communicator& comm, const std::string& path, std::int64_t bytes,
                           const WriteOptions& options, const std::function<void(const WriteOptions&)>& write_trial);

}  // namespace sidestream::io
