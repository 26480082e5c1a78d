#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sidestream/io/access_statistics.hpp"
#include "workload.hpp"

namespace sidestream::bench {

/// A way of writing or reading a content: a format by a method, or one of the references with the format "plain".
struct Case {
  std::string content, format, method;
  std::int64_t bytes = 0;                                     ///< of the variables of all ranks
  std::string path;                                           ///< what it writes or reads
  std::function<io::AccessStatistics(bool is_durable)> work;  ///< what is timed; collective
  std::function<void()> check;                                ///< collective; throws unless all is there
  std::function<void()> before{};                             ///< of one that reads: writes the file; collective
};

/// Which cases are wanted; an empty list: all. The method `aggregated` is tried with each of `buffers` (MiB) and
/// `aggregators`, as "aggregated, 4 MiB, 2 writers"; without any, as it is by itself.
struct Selection {
  std::vector<std::string> contents, formats, methods;
  std::vector<int> buffers, aggregators;
};

/// All cases of the selection, in `folder`, the references first: "sequential", large writes of all bytes by one rank,
/// which is what the disk can do; "file-per-rank", one file and one write a rank. References are always selected.
std::vector<Case> cases(const comm::Communicator& comm, const Workload& workload, const std::string& folder,
                        const Selection& selection);

/// What the disk can do: one rank writes `bytes` bytes, from memory, in large pieces.
Case sequential(const comm::Communicator& comm, const std::string& content, std::int64_t bytes,
                const std::string& path);

}  // namespace sidestream::bench
