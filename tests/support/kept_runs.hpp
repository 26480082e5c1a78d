#pragma once

#include <functional>
#include <set>
#include <string>

#include "folder.hpp"

namespace sidestream::test {

/// Runs that the tests of a suite only read, each made once: by the test that asks for it first. Collective.
class KeptRuns {
 public:
  explicit KeptRuns(const comm::Communicator& world) : world_(world.duplicate()) {}

  /// The folder of the run `name`, which `make` is called for where it is not there yet, on all ranks.
  std::string folder_of(const std::string& name, const std::function<void(const std::string& folder)>& make) {
    const std::string folder = folder_ / name;
    if (made_.insert(name).second) {
      make(folder);
      world_.barrier();
    }
    return folder;
  }

 private:
  comm::Communicator world_;
  SharedFolder folder_{world_};
  std::set<std::string> made_;
};

}  // namespace sidestream::test
