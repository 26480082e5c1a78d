#include "sidestream/redistribute/redistribution.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <complex>
#include <memory>
#include <thread>
#include <vector>

#include "redistribute/layouts.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/random.hpp"
#include "support/fields.hpp"

namespace sidestream::redistribute {
namespace {

using mesh::Box;
using mesh::domain_of;
using mesh::Field;
using mesh::Int3;
using mesh::Layout;
using test::all_ranks;
using test::all_strategies;
using test::cells_that_differ;
using test::dealt;
using test::field_of_global_index;
using test::random_layout;
using test::world;

class Remap : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(Strategies, Remap, testing::ValuesIn(all_strategies), test::name_of);

template <typename T>
int cells_lost(const Layout& from_layout, const Layout& to_layout, Strategy strategy, int components = 1,
               std::int32_t from_ghost = 0, std::int32_t to_ghost = 0) {
  const Redistribution plan(world(), from_layout, to_layout, strategy);
  check(plan);
  const auto from = field_of_global_index<T>(from_layout, world().rank(), components, from_ghost);
  Field<T> to(to_layout, world().rank(), components, to_ghost);
  plan.apply(from, to);
  return cells_that_differ(to);
}

TEST_P(Remap, RowsToQuadrantsKeepEveryCell) {
  const auto rows = split(domain_of({8, 9, 10}), {1, world().size(), 1});
  const auto quadrants = dealt(split(domain_of({8, 9, 10}), {2, 2, 1}));

  EXPECT_EQ(cells_lost<double>(rows, quadrants, GetParam(), 2), 0);
}

// Elements of another type are converted on arrival, on the rank itself and from others.
template <typename From, typename To>
int cells_lost_in_conversion(Strategy strategy) {
  const auto from_layout = random_layout(domain_of({13, 9, 11}), 30, all_ranks(), 5),
             to_layout = random_layout(domain_of({13, 9, 11}), 20, all_ranks(), 6);
  const Redistribution plan(world(), from_layout, to_layout, strategy);
  Field<To> to(to_layout, world().rank(), 2, 1);
  plan.apply(field_of_global_index<From>(from_layout, world().rank(), 2, 2), to);
  return cells_that_differ(to);
}

TEST_P(Remap, ElementsAreConvertedOnArrival) {
  EXPECT_EQ((cells_lost_in_conversion<float, double>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<double, float>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<std::complex<double>, std::complex<float>>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<std::complex<float>, std::complex<double>>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<std::int32_t, double>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<std::int64_t, double>(GetParam())), 0);
  EXPECT_EQ((cells_lost_in_conversion<std::int32_t, std::int64_t>(GetParam())), 0);
  EXPECT_THROW((cells_lost_in_conversion<double, std::int32_t>(GetParam())), core::Error);
  EXPECT_THROW((cells_lost_in_conversion<std::complex<double>, double>(GetParam())), core::Error);
}

// Views of one component and of some blocks of fields, and of rows with gaps between them.
TEST_P(Remap, ViewsOfWhateverMemoryKeepEveryCell) {
  const Box domain = domain_of({12, 8, 8});
  const auto from_layout = random_layout(domain, 24, all_ranks(), 7),
             to_layout = random_layout(domain, 16, all_ranks(), 8);
  const Field<double> whole = field_of_global_index<double>(from_layout, world().rank(), 3, 1);
  std::vector<std::shared_ptr<std::vector<double>>> memory;
  std::vector<core::View4<double>> blocks;
  for (const std::int32_t index : to_layout.boxes_of(world().rank())) {
    const Box& box = to_layout.box(index);
    const Int3 n = box.extent();
    const std::ptrdiff_t row = n.x + 3, plane = row * n.y + 5;
    memory.push_back(std::make_shared<std::vector<double>>(plane * n.z, -1.0));
    blocks.emplace_back(memory.back()->data() - box.lo.x - box.lo.y * row - box.lo.z * plane, row, plane, 0, 1);
  }
  const mesh::FieldView<double> to(to_layout, world().rank(), blocks, {});
  const Redistribution plan(world(), from_layout, to_layout, GetParam());

  plan.apply(mesh::FieldView<const double>(whole).component(2), to);

  int lost = 0;
  for (int b = 0; b < to.blocks(); ++b)
    core::for_each_cell(to.box(b), [&, view = to.view(b)](int k, int j, int i) {
      lost += view(k, j, i) != test::global_value<double>(domain, {i, j, k}, 2);
    });
  EXPECT_EQ(lost, 0);
  std::int64_t untouched = 0, cells = 0;
  for (const auto& block : memory) untouched += std::ranges::count(*block, -1.0);
  for (int b = 0; b < to.blocks(); ++b) cells += to.box(b).volume();
  std::int64_t places = 0;
  for (const auto& block : memory) places += static_cast<std::int64_t>(block->size());
  EXPECT_EQ(untouched, places - cells);
}

TEST_P(Remap, RandomBoxesWithRandomOwnersKeepEveryCell) {
  const Box domain = domain_of({13, 17, 11});
  std::vector<std::int32_t> some = all_ranks();
  if (some.size() > 1) some.erase(some.begin());  // rank 0 owns nothing

  for (unsigned seed = 1; seed <= 4; ++seed) {
    const auto from = random_layout(domain, 40, all_ranks(), seed), to = random_layout(domain, 25, some, seed + 100);

    EXPECT_EQ(cells_lost<double>(from, to, GetParam(), 3), 0) << "seed " << seed;
    EXPECT_EQ(cells_lost<double>(to, from, GetParam(), 1, 2, 1), 0) << "seed " << seed;
  }
}

TEST_P(Remap, OneCellBoxesKeepEveryCell) {
  const auto cells = dealt(split(domain_of({3, 4, 5}), {3, 4, 5}));
  const auto slabs = split(domain_of({3, 4, 5}), {1, 1, world().size()});

  EXPECT_EQ(cells_lost<double>(cells, slabs, GetParam()), 0);
  EXPECT_EQ(cells_lost<double>(slabs, cells, GetParam()), 0);
}

TEST_P(Remap, ServesTwoGroupsOfRanksThatShareNone) {
  const Box domain = domain_of({12, 10, 8});
  const int senders = std::max(1, world().size() - 1);
  std::vector<std::int32_t> sending(static_cast<std::size_t>(senders)), receiving{world().size() - 1};
  std::iota(sending.begin(), sending.end(), 0);

  const auto from = random_layout(domain, 30, sending, 5), to = random_layout(domain, 9, receiving, 6);

  EXPECT_EQ(cells_lost<double>(from, to, GetParam(), 2, 4), 0);
  EXPECT_EQ(cells_lost<float>(to, from, GetParam(), 2), 0);
}

TEST_P(Remap, RanksWithoutBoxesMayPassEmptyFields) {
  const auto from_layout = test::owned_by(split(domain_of({8, 8, 8}), {2, 2, 2}), [](auto) { return 0; });
  const int last = world().size() - 1;
  const auto to_layout = test::owned_by(from_layout, [&](auto) { return last; });
  const Redistribution plan(world(), from_layout, to_layout, GetParam());
  const auto from = world().rank() == 0 ? field_of_global_index(from_layout, 0, 3) : Field<double>();
  auto to = world().rank() == last ? Field<double>(to_layout, last, 3) : Field<double>();

  plan.apply(from, to);

  EXPECT_EQ(world().rank() == last ? cells_that_differ(to) : 0, 0);
}

TEST_P(Remap, LeavesCellsAloneThatTheSourceDoesNotCover) {
  const Box domain = domain_of({10, 9, 8});
  const auto half = random_layout(domain, 30, all_ranks(), 3, {true, true, true}, 0.5);
  const auto whole = random_layout(domain, 12, all_ranks(), 4);
  const Redistribution plan(world(), half, whole, GetParam());
  const auto from = field_of_global_index(half, world().rank());
  Field<double> to(whole, world().rank());
  std::fill(to.all().begin(), to.all().end(), -1.0);

  plan.apply(from, to);

  int wrong = 0;
  for (int b = 0; b < to.blocks(); ++b)
    core::for_each_cell(to.box(b), [&](int k, int j, int i) {
      const bool is_covered = half.find({i, j, k}) >= 0;
      wrong += to.view(b)(k, j, i) != (is_covered ? 8.0 * static_cast<double>(linear_index(domain, {i, j, k})) : -1.0);
    });
  EXPECT_EQ(wrong, 0);
}

TEST_P(Remap, CarriesEveryTypeOfElement) {
  const auto from = random_layout(domain_of({7, 6, 5}), 20, all_ranks(), 8);
  const auto to = random_layout(domain_of({7, 6, 5}), 20, all_ranks(), 9);

  EXPECT_EQ(cells_lost<float>(from, to, GetParam()), 0);
  EXPECT_EQ(cells_lost<std::int32_t>(from, to, GetParam(), 5), 0);
  EXPECT_EQ(cells_lost<std::int64_t>(from, to, GetParam(), 2), 0);
  EXPECT_EQ((cells_lost<std::complex<float>>(from, to, GetParam(), 2)), 0);
  EXPECT_EQ((cells_lost<std::complex<double>>(from, to, GetParam(), 3)), 0);
}

TEST_P(Remap, OnePlanServesFieldsOfChangingTypeAndComponents) {
  const auto from = random_layout(domain_of({9, 8, 7}), 20, all_ranks(), 18);
  const auto to = random_layout(domain_of({9, 8, 7}), 20, all_ranks(), 19);
  const Redistribution plan(world(), from, to, GetParam());
  const auto lost = [&](auto zero, int components) {
    const auto source = field_of_global_index<decltype(zero)>(from, world().rank(), components);
    Field<decltype(zero)> target(to, world().rank(), components);
    plan.apply(source, target);
    return cells_that_differ(target);
  };

  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(lost(1.0, 1), 0);
    EXPECT_EQ(lost(std::complex<double>(), 4), 0);
    EXPECT_EQ(lost(1.0f, 2), 0);
    EXPECT_EQ(lost(1.0f, 3), 0);
  }
}

TEST_P(Remap, MessagesOfManyChunksArriveWhole) {
  const auto x = split(domain_of({96, 64, 50}), {world().size(), 1, 1});
  const auto z = split(domain_of({96, 64, 50}), {1, 1, world().size()});

  EXPECT_EQ(cells_lost<double>(x, z, GetParam(), 3, 1), 0);
}

TEST_P(Remap, StartAndFinishOverlapWithTheExchangeOfAnotherPlan) {
  const auto x = split(domain_of({16, 8, 8}), {world().size(), 1, 1});
  const auto z = split(domain_of({16, 8, 8}), {1, 1, world().size()});
  const Redistribution there(world(), x, z, GetParam()), back(world(), z, x, GetParam());
  auto in_x = field_of_global_index(x, world().rank()), in_z = field_of_global_index(z, world().rank());
  Field<double> from_x(z, world().rank()), from_z(x, world().rank());

  there.start(in_x, from_x);
  back.start(in_z, from_z);
  back.finish(from_z);
  while (!there.test()) {
  }
  there.finish(from_x);

  EXPECT_EQ(cells_that_differ(from_x), 0);
  EXPECT_EQ(cells_that_differ(from_z), 0);
}

TEST_P(Remap, SendersDoNotWaitForTheReceiverToStart) {
  const auto x = test::owned_by(split(domain_of({64, 64, 64}), {1, 1, 1}), [](auto) { return 0; });
  const int last = world().size() - 1;
  const auto to_last = test::owned_by(x, [&](auto) { return last; });
  const Redistribution plan(world(), x, to_last, GetParam());
  auto from = field_of_global_index(x, world().rank(), 4);
  Field<double> to(to_last, world().rank(), 4);
  plan.apply(from, to);  // makes buffers

  // The receiver starts only when it hears that the sender has: this hangs if `start` waits for it.
  if (world().rank() == 0) plan.start(from, to);
  world().barrier();
  if (world().rank() != 0) plan.start(from, to);
  plan.finish(to);

  EXPECT_EQ(cells_that_differ(to), 0);
}

TEST_P(Remap, SumsAreAddedInAnOrderThatOwnersDoNotChange) {
  // Sources whose ghost cells overlap add terms of very unlike size, so any other order shows.
  const Box domain = domain_of({6, 6, 6});
  const auto one = test::owned_by(split(domain, {3, 3, 3}), [](auto) { return 0; });
  const auto many = test::owned_by(one, [](auto i) { return (i * 7 + 3) % world().size(); });
  const auto sums = [&](const Layout& layout) {
    const Redistribution plan(world(), layout, layout, GetParam(), {.source_ghost = 2});
    Field<double> from(layout, world().rank(), 1, 2), to(layout, world().rank());
    for (int b = 0; b < from.blocks(); ++b)
      core::for_each_cell(from.box(b).grown(2), [&, view = from.view(b)](int k, int j, int i) {
        const auto box = layout.boxes_of(world().rank())[static_cast<std::size_t>(b)];
        view(k, j, i) = std::sin(box * 1e3 + i + 10 * j + 100 * k) * std::pow(10.0, box % 17);
      });
    plan.apply(from, to, Combine::add);
    return to;
  };

  const auto serial = sums(one), parallel = sums(many);

  const Redistribution gather(world(), many, one);
  Field<double> gathered(one, world().rank());
  gather.apply(parallel, gathered);
  EXPECT_TRUE(std::equal(serial.all().begin(), serial.all().end(), gathered.all().begin()));
}

TEST_P(Remap, CutShortByAnExceptionWaitsForNobody) {
#ifdef MPICH_VERSION
  GTEST_SKIP() << "MPICH over UCX kills a program in MPI_Finalize that has sent what nobody took";
#endif
  const auto there = test::owned_by(split(domain_of({64, 64, 64}), {1, 1, 1}), [](auto) { return 0; });
  const auto here = test::owned_by(there, [&](auto) { return world().size() - 1; });
  const auto start_and_fail = [&] {
    auto plan = std::make_unique<Redistribution>(world(), there, here, GetParam());
    auto from = field_of_global_index(there, world().rank(), 4);
    Field<double> to(here, world().rank(), 4);
    plan->apply(from, to);  // makes buffers
    if (world().rank() == 0) plan->start(from, to);
    throw core::Error("the receivers never start");
  };

  EXPECT_THROW(start_and_fail(), core::Error);
}

// Each rank comes late by a time of its own, another in each round, at both halves of the exchange.
TEST_P(Remap, RanksThatComeLateGetEveryCellOfTheRoundTheyAreIn) {
  const auto from_layout = random_layout(domain_of({21, 18, 16}), 20, all_ranks(), 31),
             to_layout = random_layout(domain_of({21, 18, 16}), 15, all_ranks(), 32);
  const Redistribution plan(world(), from_layout, to_layout, GetParam());
  auto from = field_of_global_index(from_layout, world().rank(), 2);
  Field<double> to(to_layout, world().rank(), 2);
  const auto come_late = [](int round, int half) {
    const double share = core::uniform(7, static_cast<std::uint64_t>(world().rank()), 2 * round + half);
    std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(2000 * share)));
  };

  int lost = 0;
  for (int round = 0; round < 12; ++round) {
    come_late(round, 0);
    plan.start(from, to);
    come_late(round, 1);
    plan.finish(to);
    for (double& value : to.all()) value -= round;
    lost += cells_that_differ(to);
    for (double& value : from.all()) value += 1.0;
  }

  EXPECT_EQ(lost, 0);
}

// The next exchange begins while others still have the last one to finish.
TEST_P(Remap, ManyExchangesFollowEachOtherWithoutAPause) {
  const auto x = split(domain_of({32, 24, 20}), {world().size(), 1, 1}),
             z = split(domain_of({32, 24, 20}), {1, 1, world().size()});
  const Redistribution there(world(), x, z, GetParam()), back(world(), z, x, GetParam());
  auto in_x = field_of_global_index(x, world().rank(), 3);
  Field<double> in_z(z, world().rank(), 3);

  for (int round = 0; round < 40; ++round) {
    there.apply(in_x, in_z);
    std::fill(in_x.all().begin(), in_x.all().end(), -1.0);
    back.apply(in_z, in_x);
  }

  EXPECT_EQ(cells_that_differ(in_x), 0);
}

TEST_P(Remap, OnlyTheCellsOfABoxMoveWhereOneIsNamed) {
  const Box domain = domain_of({12, 11, 10}), within{{3, 2, 4}, {9, 11, 7}};
  const auto from_layout = random_layout(domain, 25, all_ranks(), 41),
             to_layout = random_layout(domain, 20, all_ranks(), 42);
  const Redistribution plan(world(), from_layout, to_layout, GetParam(), {.within = within});
  Field<double> to(to_layout, world().rank());
  std::fill(to.all().begin(), to.all().end(), -1.0);

  check(plan);
  plan.apply(field_of_global_index(from_layout, world().rank()), to);

  int wrong = 0;
  for (int b = 0; b < to.blocks(); ++b)
    core::for_each_cell(to.box(b), [&, view = to.view(b)](int k, int j, int i) {
      const Int3 cell{i, j, k};
      wrong += view(k, j, i) != (within.contains(cell) ? test::global_value<double>(domain, cell, 0) : -1.0);
    });
  EXPECT_EQ(wrong, 0);
}

TEST(Redistribution, NamesItsStrategies) {
  EXPECT_EQ(strategies().named("shared").strategy, Strategy::shared);
  try {
    strategies().named("pigeon");
    FAIL() << "no error";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("pigeon"));
    EXPECT_THAT(error.hint(), testing::HasSubstr("alltoallw"));
  }
}

TEST(Redistribution, RefusesOwnersThatAreNoRanks) {
  const auto layout = split(domain_of({8, 8, 8}), {world().size() + 1, 1, 1});

  EXPECT_THROW(Redistribution(world(), layout, layout), core::Error);
}

TEST(Redistribution, RefusesFieldsWithTooFewGhostCells) {
  const auto layout = split(domain_of({8, 8, 8}), {world().size(), 1, 1});
  const GhostFill fill(world(), layout, 2);
  Field<double> field(layout, world().rank(), 1, 1);

  EXPECT_THROW(fill.fill(field), core::Error);
}

TEST(Redistribution, RefusesFieldsOfUnlikeNumbersOfComponents) {
  const auto layout = split(domain_of({8, 8, 8}), {world().size(), 1, 1});
  const Redistribution plan(world(), layout, layout);
  const Field<double> from(layout, world().rank(), 2);
  Field<double> to(layout, world().rank(), 3);

  EXPECT_THROW(plan.apply(from, to), core::Error);
}

TEST(Redistribution, CountsTheBytesThatItSends) {
  const auto x = split(domain_of({12, 12, 12}), {world().size(), 1, 1});
  const auto y = split(domain_of({12, 12, 12}), {1, world().size(), 1});
  const Redistribution plan(world(), x, y);
  const auto stays = 12 * 12 * 12 / world().size() / world().size();

  const auto sent = plan.sent_bytes(sizeof(double));

  EXPECT_EQ(sent, static_cast<std::size_t>(12 * 12 * 12 / world().size() - stays) * 8);
}

}  // namespace
}  // namespace sidestream::redistribute
