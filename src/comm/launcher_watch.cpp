#include "sidestream/comm/launcher_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace sidestream::comm {

namespace {

constexpr std::chrono::milliseconds look_every{500};

// Open MPI, MPICH and those that derive from it, and Slurm without either tell a rank its number; the Python package
// says that it waits for an answer.
bool has_launcher() {
  constexpr std::array names{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "SIDESTREAM_ANSWERS"};
  return std::ranges::any_of(names, [](const char* name) { return std::getenv(name) != nullptr; });
}

[[noreturn]] void end() {
  std::fputs("error: the launcher of this run is gone\n", stderr);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

void end_with_the_launcher() {
  if (!has_launcher()) return;
  std::thread([launcher = ::getppid()] {
    while (::getppid() == launcher) std::this_thread::sleep_for(look_every);
    end();
  }).detach();
}

}  // namespace sidestream::comm
