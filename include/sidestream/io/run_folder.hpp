#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::io {

class RunLock;

/// What to do with an output folder that holds an earlier run.
enum class ExistingRun {
  refuse,     ///< an error
  overwrite,  ///< the earlier run's files are removed; anything else in the folder stays
  resume,     ///< kept, to go on from
};

/// The names of everything in the folder of a run.
class RunFolder {
 public:
  /// `hold`: kept as long as this or a copy lives.
  explicit RunFolder(std::string path, std::shared_ptr<const RunLock> hold = nullptr)
      : path_(std::move(path)), hold_(std::move(hold)) {}

  const std::string& path() const { return path_; }
  std::string config() const;  ///< config.toml, resolved
  /// events.jsonl of the group "compute", events.GROUP.jsonl of any other.
  std::string events(const std::string& group) const;
  std::string result(const std::string& task, std::int64_t step) const;  ///< results/TASK/STEP.nc
  /// The newest step below `below` of which `task` has a result. Local.
  std::optional<std::int64_t> newest_result(const std::string& task, std::int64_t below) const;
  std::string report() const;  ///< report.html
  std::string stream() const;  ///< stream.json: where readers come to, while the run goes on
  /// snapshots, or snapshots.GRID: what tasks of the transport `file` are to be done with, a stored snapshot for each
  /// step.
  std::string snapshots(const std::string& grid = "") const;
  std::string snapshot(std::int64_t step, const std::string& grid = "") const;
  /// The steps of those that are there, ascending. Local.
  std::vector<std::int64_t> stored_steps(const std::string& grid = "") const;

  /// Whether the folder holds (part of) a run.
  bool holds_a_run() const;
  /// Throws core::Error that says who has the folder, if a job runs in it. Local.
  void require_no_job() const;

 private:
  std::string path_;
  std::shared_ptr<const RunLock> hold_;
};

/// Whether a run makes a file or folder of this name in its folder, with any formats.
bool belongs_to_a_run(const std::string& name);

/// A step in file names: at least five digits.
std::string step_name(std::int64_t step);

/// Makes the folder of a run (or takes over an earlier one as `existing` says), proves that it can be written to, and
/// writes `config_toml` into it. Until the last copy of what it returns is gone no other job can have the folder: a
/// lock of the first rank, which ends with its process. Collective on `comm`; all ranks throw the same core::Error when
/// it cannot be, before anything was changed.
RunFolder prepare_run_folder(const comm::Communicator& comm, const std::string& path, ExistingRun existing,
                             const std::string& config_toml);

}  // namespace sidestream::io
