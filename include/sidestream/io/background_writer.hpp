#pragma once

#include <functional>
#include <future>
#include <optional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/access_statistics.hpp"

namespace sidestream::io {

/// Writes files behind a running simulation, one at a time, on a thread of each rank with a communicator of its own.
/// All members but the accessors are collective. Where MPI allows one thread only, the writing is done at once.
class BackgroundWriter {
 public:
  explicit BackgroundWriter(const comm::Communicator& comm);
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;

  struct Outcome {
    AccessStatistics statistics;  ///< of this rank
    double seconds = 0.0;         ///< from the start of the writing to its end, on this rank
    std::string error;            ///< empty: written
  };

  /// Begins to write what `write` writes; there must be nothing under way.
  void start(std::function<AccessStatistics(const comm::Communicator& comm)> write);
  bool is_busy() const { return writing_.valid(); }
  /// The outcome of what is under way, once all ranks are through: with `wait` in any case, else nothing while some
  /// rank still writes.
  std::optional<Outcome> finish(bool wait);

 private:
  comm::Communicator comm_, main_;
  std::future<Outcome> writing_;
};

}  // namespace sidestream::io
