#pragma once

#include <fmt/core.h>

#include <cstdio>
#include <exception>

#include "sidestream/comm/communicator.hpp"

namespace sidestream::apps {

/// Runs `command(world)` between the start and the end of MPI and returns its exit code; `failed` after an exception,
/// which rank 0 prints.
template <typename F>
int in_parallel(int argc, char** argv, int failed, F command) {
  const comm::Environment environment(argc, argv);
  const comm::Communicator world(MPI_COMM_WORLD);
  try {
    return command(world);
  } catch (const std::exception& error) {
    if (world.rank() == 0) fmt::print(stderr, "{}\n", error.what());
    return failed;
  }
}

}  // namespace sidestream::apps
