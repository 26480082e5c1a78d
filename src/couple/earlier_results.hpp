#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "sidestream/comm/communicator.hpp"
#include "sidestream/io/result_file.hpp"
#include "sidestream/io/run_folder.hpp"
#include "sidestream/mesh/result.hpp"

namespace sidestream::couple {

/// The newest result of each task that looks back: kept from the moment before, or read from the run folder at the
/// first moment after a restart. Both are alike but for the deal of distributed rows.
class EarlierResults {
 public:
  explicit EarlierResults(io::RunFolder folder) : folder_(std::move(folder)) {}

  /// The first step that the session was asked about: results of later steps that are not kept here were left over when
  /// the run went back to a checkpoint.
  void begin_at(std::int64_t step) { first_step_ = step; }
  std::int64_t first_step() const { return first_step_.value_or(0); }

  struct Found {
    const mesh::Result* result;  ///< without columns when there is none
    std::string problem;         ///< of a result that is there and cannot be read; on all ranks
    bool is_first_look = false;  ///< the folder was looked at, for the first and only time
  };
  /// The newest result of `task` below `step`. Collective on `group`.
  Found before(const comm::Communicator& group, const std::string& task, std::int64_t step);

  /// Keeps `result` as a file with the attributes `extra` would give it back.
  void keep(const comm::Communicator& group, const std::string& task, mesh::Result result,
            const io::ResultAttributes& extra);
  /// Keeps a result as it was read, instead of looking into the folder.
  void keep(const std::string& task, mesh::Result result) { newest_[task] = std::move(result); }

 private:
  mesh::Result read(const comm::Communicator& group, const std::string& task, std::int64_t step) const;

  io::RunFolder folder_;
  std::optional<std::int64_t> first_step_;
  std::map<std::string, mesh::Result> newest_;
};

}  // namespace sidestream::couple
