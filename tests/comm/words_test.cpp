#include "sidestream/comm/words.hpp"

#include <gtest/gtest.h>

#include "sidestream/comm/progress.hpp"

namespace sidestream::comm {
namespace {

TEST(Words, AreCarriedByWhatIsDuplicatedAndSplitToo) {
  const Communicator world(MPI_COMM_WORLD);
  const Communicator told = with_word(with_word(world, "exchange", "rma"), "wisdom", "none");
  const Communicator part = told.duplicate().split(world.rank() % 2), node = part.split_by_node();

  for (const Communicator* comm : {&told, &part, &node}) {
    EXPECT_EQ(word_of(*comm, "exchange"), "rma");
    EXPECT_EQ(word_of(*comm, "wisdom"), "none");
  }
  EXPECT_EQ(word_of(world, "exchange"), "");
  EXPECT_EQ(word_of(with_word(told, "exchange", "p2p"), "exchange"), "p2p");
}

TEST(Words, AndWhoListensToProgressDoNotMeet) {
  const Communicator world(MPI_COMM_WORLD);
  int calls = 0;
  const Communicator both = with_progress(with_word(world, "exchange", "rma"), [&] { ++calls; });

  progress(both);
  progress(with_word(both, "wisdom", "none"));
  progress(without_progress(both));

  EXPECT_EQ(calls, 2);
  EXPECT_EQ(word_of(without_progress(both), "exchange"), "rma");
}

}  // namespace
}  // namespace sidestream::comm
