#include "sidestream/comm/communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <numeric>
#include <utility>

#include "sidestream/comm/abandon.hpp"
#include "sidestream/comm/call_failed.hpp"
#include "sidestream/comm/shared_window.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::comm {
namespace {

using testing::HasSubstr;

class CommunicatorTest : public testing::Test {
 protected:
  Communicator world{MPI_COMM_WORLD};
  int rank = world.rank(), size = world.size();
};

TEST_F(CommunicatorTest, SumsMinimaAndMaximaCoverAllRanks) {
  EXPECT_EQ(world.sum(std::int64_t{rank}), size * (size - 1) / 2);
  EXPECT_EQ(world.min(static_cast<double>(rank)), 0.0);
  EXPECT_EQ(world.max(static_cast<double>(rank)), size - 1);
  EXPECT_EQ(world.all(rank != size - 1), false);
}

TEST_F(CommunicatorTest, ACallThatFailsIsAnErrorOnAllThatIsMadeOfIt) {
  const Communicator split = world.split(0), node = world.split_by_node();
  for (const Communicator* comm : std::initializer_list<const Communicator*>{&world, &split, &node})
    EXPECT_THROW(check(MPI_Send(nullptr, 0, MPI_BYTE, comm->size(), 0, comm->raw()), "MPI_Send"), CallFailed);
}

TEST_F(CommunicatorTest, OneThatIsAbandonedStaysWithMpi) {
  Communicator mine = world.duplicate();
  const MPI_Comm left = mine.raw();
  abandon(std::move(mine));

  int ranks = 0;
  ASSERT_EQ(MPI_Comm_size(left, &ranks), MPI_SUCCESS);
  EXPECT_EQ(ranks, size);
}

TEST_F(CommunicatorTest, ExactSumsDoNotDependOnTheRanksThatHoldTheTerms) {
  core::ExactSum mine, all;
  for (int i = 0; i < 1000; ++i) {
    const double term = (i % 2 == 0 ? 1e10 : -1e-7) / (i + 1);
    all.add(term);
    if (i % size == rank) mine.add(term);
  }
  EXPECT_EQ(world.sum(mine), all.value());
}

TEST_F(CommunicatorTest, ExchangeDeliversEachMessageToItsRank) {
  std::vector<std::vector<std::int64_t>> outgoing(static_cast<std::size_t>(size));
  for (int p = 0; p < size; ++p)
    outgoing[static_cast<std::size_t>(p)].assign(static_cast<std::size_t>(p), 100 * rank + p);

  const auto incoming = world.exchange(outgoing);

  for (int p = 0; p < size; ++p) {
    const std::vector<std::int64_t> expected(static_cast<std::size_t>(rank), 100 * p + rank);
    EXPECT_EQ(incoming[static_cast<std::size_t>(p)], expected);
  }
}

TEST_F(CommunicatorTest, GatherKeepsRankOrderAndUnevenLengths) {
  const std::vector<double> mine(static_cast<std::size_t>(rank), rank);
  const auto all = world.gather<double>(mine);
  std::vector<double> expected;
  for (int p = 0; p < size && rank == 0; ++p) expected.insert(expected.end(), static_cast<std::size_t>(p), p);
  EXPECT_EQ(all, expected);
}

TEST_F(CommunicatorTest, BroadcastOfTextAndVectors) {
  EXPECT_EQ(world.broadcast(rank == 0 ? std::string("halo") : std::string()), "halo");
  EXPECT_EQ(world.broadcast(rank == 0 ? std::vector<int>{1, 2, 3} : std::vector<int>{}).size(), 3u);
}

TEST_F(CommunicatorTest, AgreementThrowsOnAllRanksTheErrorOfOne) {
  world.agree("");
  try {
    world.agree_on([&] {
      if (rank == size - 1) throw core::Error("the disk is full", "chk00001", "free some space");
    });
    FAIL() << "no error";
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "the disk is full");
    EXPECT_EQ(error.where(), "chk00001");
    EXPECT_EQ(error.hint(), "free some space");
  }
}

TEST_F(CommunicatorTest, AgreementNamesTheRankWhereNoPlaceIsKnown) {
  try {
    world.agree(rank == size - 1 ? "out of luck" : "");
    FAIL() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.where(), HasSubstr(std::to_string(size - 1)));
  }
}

TEST_F(CommunicatorTest, SplitGivesEachColourItsRanksAndNegativeOnesNothing) {
  const Communicator even = world.split(rank % 2 == 0 ? 0 : -1);
  EXPECT_EQ(even.is_empty(), rank % 2 != 0);
  if (!even.is_empty()) {
    EXPECT_EQ(even.size(), (size + 1) / 2);
  }
}

TEST_F(CommunicatorTest, SharedWindowsShowWhatOtherRanksWrote) {
  const Communicator node = world.split_by_node();
  const SharedWindow window(node, node.rank() == 0 ? 0 : 8);
  for (auto& byte : window.part(node.rank())) byte = static_cast<std::byte>(node.rank());

  window.synchronize();

  for (int p = 0; p < node.size(); ++p) {
    EXPECT_EQ(window.part(p).size(), p == 0 ? 0u : 8u);
    for (const auto byte : window.part(p)) EXPECT_EQ(byte, static_cast<std::byte>(p));
  }
  window.synchronize();
}

}  // namespace
}  // namespace sidestream::comm
