#pragma once

#include <gtest/gtest.h>

#include <string>

#include "sidestream/sims/run.hpp"
#include "support/folder.hpp"

namespace sidestream::test {

/// Runs of all ranks, in folders that are gone afterwards.
class RunInFolder : public testing::Test {
 protected:
  sims::RunStatus run(const std::string& text, const std::string& name,
                      io::ExistingRun existing = io::ExistingRun::refuse) {
    const sims::RunStatus status =
        sims::run(world, sims::read_run(core::parse_toml(text, "run.toml")), folder / name, {existing}, {});
    world.barrier();  // the first rank writes the files that every rank then reads
    return status;
  }

  comm::Communicator world{MPI_COMM_WORLD};
  SharedFolder folder{world};
};

}  // namespace sidestream::test
