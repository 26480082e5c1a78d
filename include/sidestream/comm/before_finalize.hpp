#pragma once

#include <functional>

namespace sidestream::comm {

/// While it lives, `work` is called once when this process finalizes MPI, before anything of MPI has ended: it may
/// still communicate, with ranks that finalize too. What it throws is lost. Local.
class BeforeFinalize {
 public:
  explicit BeforeFinalize(std::function<void()> work);
  ~BeforeFinalize();
  BeforeFinalize(const BeforeFinalize&) = delete;
  BeforeFinalize& operator=(const BeforeFinalize&) = delete;

 private:
  std::function<void()> work_;
  int key_;
};

}  // namespace sidestream::comm
