#pragma once

#include <filesystem>
#include <string>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::test {

/// A temporary folder that all ranks of a communicator share, removed at the end. Collective.
class SharedFolder {
 public:
  explicit SharedFolder(const comm::Communicator& comm) : comm_(comm.duplicate()) {
    std::string name = (std::filesystem::temp_directory_path() / "sidestream-XXXXXX").string();
    if (comm_.rank() == 0) name = mkdtemp(name.data());
    path_ = comm_.broadcast(name);
  }
  ~SharedFolder() {
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove_all(path_);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  comm::Communicator comm_;
  std::filesystem::path path_;
};

}  // namespace sidestream::test
