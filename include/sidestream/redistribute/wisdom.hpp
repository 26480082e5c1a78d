#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::redistribute {

/// What tuning found out, kept in a JSON file from run to run. A file that is no such file is passed over with a
/// warning, and put aside, `.aside` behind its name, when the next finding is kept. What cannot be read or written,
/// such as a folder, a pipe or a device, is no error either: a warning names it, once a process, and it is left as it
/// is. Several jobs may use one file: it is replaced as a whole, and what another job has added in the meantime is
/// kept. All members are local: let one rank ask and tell the others.
class Wisdom {
 public:
  struct Finding {
    std::string choice;    ///< the name of the fastest candidate
    double seconds = 0.0;  ///< that it took
  };

  /// `path`: of the file; empty: `usual_path()`; "none": nothing is kept.
  explicit Wisdom(const std::string& path = "");

  /// The environment's SIDESTREAM_WISDOM, else `sidestream/wisdom.json` in the user's folder for caches
  /// (XDG_CACHE_HOME, ~/.cache); "none" where there is no such folder.
  static std::string usual_path();

  const std::string& path() const { return path_; }
  std::optional<Finding> find(const std::string& key) const;
  /// Whether it could be kept.
  bool keep(const std::string& key, const Finding& finding) const;

 private:
  std::string path_;
};

/// What times depend on wherever they are taken: processor and cores of a node, MPI, ranks, ranks a node. The beginning
/// of a key. Collective; the same on all ranks.
std::string machine_key(const comm::Communicator& comm);

}  // namespace sidestream::redistribute
