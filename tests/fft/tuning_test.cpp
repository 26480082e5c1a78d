#include "sidestream/fft/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fft/fields.hpp"
#include "sidestream/comm/threads.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"
#include "sidestream/redistribute/wisdom.hpp"
#include "support/fields.hpp"
#include "support/folder.hpp"

namespace sidestream::fft {
namespace {

using redistribute::Strategy;
using test::SharedFolder;

comm::Communicator world() {
  return comm::Communicator(MPI_COMM_WORLD);
}

constexpr Int3 cells{12, 10, 16};

class FftTuning : public testing::Test {
 protected:
  const SharedFolder folder{world()};
  const std::string path = folder / "wisdom.json";
  const comm::Communicator comm = redistribute::with_exchange(world(), {.strategy = Strategy::tuned, .wisdom = path});
  const Layout blocks = scattered_blocks(cells, comm.size());

  void tell(const std::string& key, const Way& way) const {
    if (comm.rank() == 0) redistribute::Wisdom(path).keep(key, {way.name(), 1e-3});
    comm.barrier();
  }
  std::optional<redistribute::Wisdom::Finding> told(const std::string& key) const {
    comm.barrier();
    return redistribute::Wisdom(path).find(key);
  }
};

void expect_way(const FftOptions& options, const Way& way) {
  EXPECT_EQ(options.grid->rows, way.grid.rows);
  EXPECT_EQ(options.grid->columns, way.grid.columns);
  EXPECT_EQ(options.strategy, way.strategy);
  EXPECT_EQ(options.depth, way.depth);
  EXPECT_EQ(options.pieces, way.pieces);
}

TEST(FftWays, HaveNamesThatTellThemApart) {
  const std::vector<ProcessGrid> grids = process_grids(4);
  const std::vector<Strategy> strategies{Strategy::p2p, Strategy::shared};
  std::vector<std::string> names;
  for (const Way& way : ways(grids, strategies, 3)) names.push_back(way.name());

  EXPECT_EQ(grids.size(), 5u);  // 1 x 4, 2 x 2, 4 x 1, and two that leave two ranks idle
  EXPECT_THAT(names, testing::IsSupersetOf({"1 x 4, p2p", "2 x 2, shared, 2 under way", "1 x 2, p2p",
                                            "4 x 1, p2p, 2 components under way"}));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(FftWays, HaveThreadsWhereTheyMay) {
  const std::vector<ProcessGrid> grids{{1, 2}};
  const std::vector<Strategy> strategies{Strategy::p2p};
  const auto names = [&](int threads) {
    std::vector<std::string> all;
    for (const Way& way : ways(grids, strategies, 1, threads)) all.push_back(way.name());
    return all;
  };

  EXPECT_THAT(names(1), testing::ElementsAre("1 x 2, p2p", "1 x 2, p2p, 2 under way"));
  EXPECT_THAT(names(4), testing::ElementsAre("1 x 2, p2p, 4 threads", "1 x 2, p2p, 2 under way, 4 threads",
                                             "1 x 2, p2p, 2 threads", "1 x 2, p2p, 2 under way, 2 threads",
                                             "1 x 2, p2p", "1 x 2, p2p, 2 under way"));
}

TEST_F(FftTuning, TriesThreadsOnlyAsFarAsThereAreCores) {
  const FftOptions asked{.threads = 1000, .thread_mode = ThreadMode::multiple};
  const FftOptions options = tuned<double>(comm, blocks, asked);

  EXPECT_LE(options.threads, comm::cores_of_rank(comm));
  EXPECT_EQ(options.thread_mode, ThreadMode::multiple);
  EXPECT_EQ(tuned<double>(comm, blocks, {}).threads, 1);
}

TEST_F(FftTuning, KnowsThreadsByNumberAndMode) {
  const auto key = [&](int threads, ThreadMode mode) {
    return tuning_key<double>(comm, cells, blocks, {.threads = threads, .thread_mode = mode});
  };

  EXPECT_EQ(key(1, ThreadMode::multiple), key(1, ThreadMode::funneled));
  EXPECT_NE(key(2, ThreadMode::multiple), key(2, ThreadMode::funneled));
  EXPECT_NE(key(2, ThreadMode::multiple), key(4, ThreadMode::multiple));
  EXPECT_THAT(key(2, ThreadMode::serialized), testing::EndsWith(", 2 threads serialized"));
}

TEST_F(FftTuning, OfAPlanIsMeasuredOnceAndKept) {
  const std::string key = tuning_key<double>(comm, cells, blocks, {});
  const FftPlan<double> plan(comm, blocks);

  EXPECT_NE(redistribute::entry_of(plan.options().strategy).make, nullptr);
  if (comm.size() == 1) return;  // there is nothing to choose
  const auto finding = told(key);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->choice,
            (Way{plan.grid(), plan.options().strategy, plan.options().depth, plan.options().pieces}.name()));
}

TEST_F(FftTuning, IsWhatTheFileSays) {
  if (comm.size() == 1) return;
  for (const Way& way : {Way{{comm.size(), 1}, Strategy::pipelined, 2}, Way{{1, comm.size() / 2}, Strategy::p2p}}) {
    tell(tuning_key<double>(comm, cells, blocks, {}), way);

    const FftPlan<double> plan(comm, blocks);

    expect_way(plan.options(), way);
    comm.barrier();
  }
}

TEST_F(FftTuning, LeavesWhatIsGiven) {
  const FftOptions given{.grid = ProcessGrid{1, comm.size()}, .depth = 3};
  const FftOptions options = tuned<double>(comm, blocks, given);

  EXPECT_EQ(options.grid->columns, comm.size());
  EXPECT_EQ(options.depth, 3);
}

TEST_F(FftTuning, OfCellsInPencilsKnowsThemByTheGridAlone) {
  if (comm.size() == 1) return;
  const FftOptions asked{.components = 3, .kept = Int3{3, 3, 5}};
  const Way way{{comm.size(), 1}, Strategy::alltoallv, 2, Pieces::components};
  tell(tuning_key<double>(comm, cells, std::nullopt, asked), way);

  expect_way(tuned<double>(comm, cells, asked), way);
}

TEST_F(FftTuning, ChangesNoBits) {
  const FftPlan<double> usual(world(), blocks), plan(comm, blocks);
  const Field<double> field = noise_on(blocks, comm.rank());
  Field<std::complex<double>> expected(usual.spectral(), comm.rank()), modes(plan.spectral(), comm.rank());

  usual.forward(field, expected);
  plan.forward(field, modes);

  EXPECT_TRUE(have_equal_bits(gathered(comm, modes), gathered(comm, expected)));
}

}  // namespace
}  // namespace sidestream::fft
