#include "sidestream/comm/roles.hpp"

#include <gtest/gtest.h>

#include "sidestream/core/error.hpp"

namespace sidestream::comm {
namespace {

TEST(Roles, SidecarsAreAPartOfTheTotal) {
  EXPECT_EQ(plan_ranks(8, 3, SidecarCount::total), (RankCounts{8, 5, 3}));
}

TEST(Roles, ExtraSidecarsComeOnTopOfTheRanksThatCompute) {
  EXPECT_EQ(plan_ranks(8, 3, SidecarCount::extra), (RankCounts{11, 8, 3}));
  EXPECT_EQ(plan_ranks(1, 2, SidecarCount::extra), (RankCounts{3, 1, 2}));
}

TEST(Roles, AWorldWithoutARankToComputeIsRefusedWithAHint) {
  try {
    plan_ranks(2, 2, SidecarCount::total);
    FAIL() << "two sidecars of two ranks were accepted";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "2 of 2 ranks cannot be sidecars: none would be left to compute");
    EXPECT_NE(error.hint().find("at least 3 ranks"), std::string::npos);
  }
}

TEST(Roles, TheLastRanksAreTheSidecars) {
  const Communicator world(MPI_COMM_WORLD);
  for (int sidecars = 0; sidecars < world.size(); ++sidecars) {
    const Roles roles(world, sidecars);

    EXPECT_EQ(roles.computes(), world.rank() < world.size() - sidecars);
    EXPECT_EQ(roles.group().size(), roles.computes() ? world.size() - sidecars : sidecars);
    EXPECT_EQ(roles.group().rank(), roles.computes() ? world.rank() : world.rank() - roles.counts().compute);
    EXPECT_EQ(roles.world_rank_of_sidecar(0), world.size() - sidecars);
  }
}

TEST(Roles, TooManySidecarsAreRefusedOnAllRanks) {
  const Communicator world(MPI_COMM_WORLD);

  EXPECT_THROW(Roles(world, world.size()), core::Error);
}

}  // namespace
}  // namespace sidestream::comm
