#include "sidestream/comm/progress.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace sidestream::comm {
namespace {

TEST(Progress, IsAskedForThroughWhatIsDuplicatedAndSplitToo) {
  const Communicator world(MPI_COMM_WORLD);
  int calls = 0;
  const Communicator listened = with_progress(world, [&] { ++calls; });
  const Communicator duplicate = listened.duplicate(), part = duplicate.split(world.rank() % 2),
                     node = part.split_by_node();

  for (const Communicator* comm : {&listened, &duplicate, &part, &node}) {
    calls = 0;
    progress(*comm);
    EXPECT_EQ(calls, 1);
  }
}

TEST(Progress, NobodyListensElsewhere) {
  const Communicator world(MPI_COMM_WORLD);
  int calls = 0;
  const Communicator listened = with_progress(world, [&] { ++calls; });

  progress(world);
  progress(without_progress(listened));
  progress(without_progress(world));
  progress(without_progress(listened).duplicate());

  EXPECT_EQ(calls, 0);
}

TEST(Progress, TheLastOneThatListensIsHeard) {
  const Communicator world(MPI_COMM_WORLD);
  int first = 0, second = 0;
  const Communicator one = with_progress(world, [&] { ++first; });
  const Communicator two = with_progress(one, [&] { ++second; });

  progress(two);

  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, 1);
}

TEST(Progress, WhatItRefersToIsDroppedWithTheLastCommunicator) {
  const Communicator world(MPI_COMM_WORLD);
  const auto held = std::make_shared<int>(0);
  {
    const Communicator listened = with_progress(world, [held] { ++*held; });
    const Communicator duplicate = listened.duplicate();
    EXPECT_GT(held.use_count(), 1);
  }

  EXPECT_EQ(held.use_count(), 1);
}

TEST(Progress, MembersThatReduceOrExchangeSaySoFirst) {
  const Communicator world(MPI_COMM_WORLD);
  int calls = 0;
  const Communicator listened = with_progress(world, [&] { ++calls; });

  listened.barrier();
  EXPECT_EQ(calls, 1);
  listened.max(1.0);
  EXPECT_EQ(calls, 2);
  listened.exchange(std::vector<std::vector<int>>(static_cast<std::size_t>(world.size())));
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace sidestream::comm
