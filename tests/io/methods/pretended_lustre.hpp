#pragma once

#include <string>
#include <vector>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::test {

/// A `lfs` that keeps what it was told, as a program in `folder` and on the PATH for the life of this.
class FakeLfs {
 public:
  FakeLfs(const comm::Communicator& comm, const std::string& folder);
  ~FakeLfs();
  FakeLfs(const FakeLfs&) = delete;

  /// The words of each call for setting stripes, in the order of the calls.
  std::vector<std::string> orders() const;

 private:
  std::string folder_, path_;
};

/// For the life of this, all of the file system looks like Lustre to this program.
class PretendedLustre {
 public:
  PretendedLustre();
  ~PretendedLustre();
  PretendedLustre(const PretendedLustre&) = delete;
};

/// A file that this process has made by MPI-IO.
struct MadeByMpi {
  std::string path, stripes, stripe_bytes;  ///< hints; empty: not given
  bool was_there = false;
};
/// All since the last call of this.
std::vector<MadeByMpi> made_by_mpi();

}  // namespace sidestream::test
