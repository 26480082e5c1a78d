#include "fft/threads/threads.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "fft/fields.hpp"
#include "sidestream/core/timer.hpp"

// Transforms by several threads of each rank.
namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;
using testing::HasSubstr;

struct Hands {
  int threads;
  ThreadMode mode;
  int depth;
};

class Threads : public testing::TestWithParam<Hands> {
 protected:
  static constexpr Int3 cells{12, 10, 19};
  static constexpr int components = 3;

  FftOptions threaded(FftOptions options) const {
    options.threads = GetParam().threads;
    options.thread_mode = GetParam().mode;
    options.depth = GetParam().depth;
    return options;
  }
  // What `repeats` transforms there and back leave; all leave the same.
  ThereAndBack there_and_back(const Layout& layout, FftOptions options, int repeats) const {
    options.components = components;
    const FftPlan<double> plan(comm, layout, options);
    const Field<double> field = components_of_noise(layout, comm.rank(), components, options.ghost);
    Field<Complex> lost(plan.spectral(), comm.rank(), components);
    ThereAndBack result{Field<Complex>(plan.spectral(), comm.rank(), components),
                        Field<double>(layout, comm.rank(), components, options.ghost)};
    for (int repeat = 0; repeat < repeats; ++repeat) {
      std::ranges::fill(result.modes.all(), Complex{});
      plan.forward(field, result.modes);
      std::ranges::copy(result.modes.all(), lost.all().begin());
      plan.backward(lost, result.back);
    }
    return result;
  }
  // The first transform of some modes is done by one thread.
  void expect_the_bits_of_one(const Layout& layout, const FftOptions& options, const std::string& what = "") const {
    expect_same(there_and_back(layout, options, 1), there_and_back(layout, threaded(options), 4), what);
  }

  const comm::Communicator comm{MPI_COMM_WORLD};
  const Layout blocks = scattered_blocks(cells, comm.size());
};

TEST_P(Threads, GiveTheBitsOfOneOnSlabsAndPencils) {
  const Layout slabs = split(mesh::domain_of(cells), {1, 1, comm.size()});
  expect_the_bits_of_one(slabs, {.decomposition = Decomposition::slabs});
  expect_the_bits_of_one(blocks, {.decomposition = Decomposition::pencils, .ghost = 1});
  expect_the_bits_of_one(blocks, {.grid = ProcessGrid{1, 1}});
}

TEST_P(Threads, GiveTheBitsOfOneByEveryStrategy) {
  for (const auto& entry : redistribute::strategies())
    if (entry.make != nullptr)
      expect_the_bits_of_one(blocks, {.decomposition = Decomposition::pencils, .strategy = entry.strategy}, entry.name);
}

TEST_P(Threads, GiveTheBitsOfOneWhereModesAreDroppedAndWantedElsewhere) {
  constexpr Int3 kept{3, 2, 4}, waves{4, 5, 9};
  const Layout wanted = scattered_blocks(waves, comm.size());
  for (const Pieces pieces : {Pieces::planes, Pieces::components})
    expect_the_bits_of_one(
        blocks, {.decomposition = Decomposition::pencils, .kept = kept, .spectral = wanted, .pieces = pieces});
}

TEST_P(Threads, TellWhereTheTimeGoes) {
  constexpr Int3 many{64, 64, 64};
  FftTimes times;
  const Field<double> field = noise_on(scattered_blocks(many, comm.size()), comm.rank());
  FftOptions options = threaded({.decomposition = Decomposition::pencils, .times = &times});
  const FftPlan<double> plan(comm, field.layout(), options);
  Field<Complex> modes(plan.spectral(), comm.rank());
  for (int repeat = 0; repeat < 3; ++repeat) {
    times = {};
    const core::Stopwatch watch;
    plan.forward(field, modes);
    const double whole = watch.seconds();

    EXPECT_LE(times.total_s(), whole);
    EXPECT_GT(times.transform_s, 0.0);
    EXPECT_GT(times.moves.pack_s, 0.0);
    EXPECT_GE(std::min(times.moves.exchange_s, times.moves.unpack_s), 0.0);
  }
}

std::string name_of_hands(const testing::TestParamInfo<Hands>& info) {
  const auto& [threads, mode, depth] = info.param;
  return std::to_string(threads) + "_" + entry_of(mode).name + "_" + std::to_string(depth);
}
INSTANTIATE_TEST_SUITE_P(Hands, Threads,
                         testing::Values(Hands{2, ThreadMode::funneled, 1}, Hands{3, ThreadMode::funneled, 2},
                                         Hands{2, ThreadMode::serialized, 1}, Hands{3, ThreadMode::serialized, 2},
                                         Hands{2, ThreadMode::multiple, 1}, Hands{3, ThreadMode::multiple, 2}),
                         name_of_hands);

std::string refusal_of(const FftOptions& options, comm::ThreadLevel level) {
  try {
    require_threads(options, level);
  } catch (const core::Error& error) {
    return error.message();
  }
  return "";
}

TEST(FftThreads, NeedAnMpiThatAllowsThem) {
  using comm::ThreadLevel;
  const comm::Communicator comm(MPI_COMM_WORLD);
  const FftOptions funneled{.threads = 2}, serialized{.threads = 2, .thread_mode = ThreadMode::serialized},
      multiple{.threads = 2, .thread_mode = ThreadMode::multiple};

  EXPECT_THAT(refusal_of(multiple, ThreadLevel::serialized),
              HasSubstr("2 threads of the mode `multiple` need an MPI that was initialised with MPI_THREAD_MULTIPLE"));
  EXPECT_THAT(refusal_of(serialized, ThreadLevel::funneled), HasSubstr("MPI_THREAD_SERIALIZED"));
  EXPECT_THAT(refusal_of(funneled, ThreadLevel::single), HasSubstr("MPI_THREAD_FUNNELED"));
  EXPECT_EQ(refusal_of(multiple, ThreadLevel::multiple), "");
  EXPECT_EQ(refusal_of(serialized, ThreadLevel::serialized), "");
  EXPECT_EQ(refusal_of(funneled, ThreadLevel::funneled), "");
  EXPECT_EQ(refusal_of({.thread_mode = ThreadMode::multiple}, ThreadLevel::single), "");  // there is only one
  EXPECT_THROW(FftPlan<double>(comm, one_block({4, 4, 4}), {.threads = 0}), core::Error);
}

}  // namespace
}  // namespace sidestream::fft
