#include <gtest/gtest.h>

#include <algorithm>

#include "fft/fields.hpp"
#include "sidestream/core/timer.hpp"

// Pieces of a transform that travel while lines of others are transformed, and where the time goes.
namespace sidestream::fft {
namespace {

using Complex = std::complex<double>;

struct Pipe {
  int depth;
  Pieces pieces;
};
constexpr Pipe pipes[] = {{2, Pieces::planes}, {5, Pieces::planes}, {1, Pieces::components}, {3, Pieces::components}};

class Overlap : public testing::TestWithParam<Pipe> {
 protected:
  static constexpr int components = 3;
  static constexpr Int3 cells{12, 10, 19};

  FftOptions piped(FftOptions options) const {
    options.depth = GetParam().depth;
    options.pieces = GetParam().pieces;
    return options;
  }
  ThereAndBack there_and_back(const Layout& layout, const FftOptions& options) const {
    const FftPlan<double> plan(comm, layout, options);
    ThereAndBack result{Field<Complex>(plan.spectral(), comm.rank(), components),
                        components_of_noise(layout, comm.rank(), components, options.ghost)};
    plan.forward(result.back, result.modes);
    Field<Complex> lost(plan.spectral(), comm.rank(), components);
    for (int repeat = 0; repeat < 2; ++repeat) {  // a plan is used often
      std::ranges::copy(result.modes.all(), lost.all().begin());
      plan.backward(lost, result.back);
    }
    return result;
  }
  void expect_the_bits_of_waiting(const Layout& layout, FftOptions options) const {
    options.components = components;
    expect_same(there_and_back(layout, options), there_and_back(layout, piped(options)));
  }

  const comm::Communicator comm{MPI_COMM_WORLD};
  const Layout blocks = scattered_blocks(cells, comm.size());
};

TEST_P(Overlap, GivesTheBitsOfWaitingOnSlabsAndPencils) {
  expect_the_bits_of_waiting(blocks, {.decomposition = Decomposition::pencils, .ghost = 1});
  const Layout slabs = split(mesh::domain_of(cells), {1, 1, comm.size()});
  expect_the_bits_of_waiting(slabs, {.decomposition = Decomposition::slabs, .ghost = 1});
}

TEST_P(Overlap, GivesTheBitsOfWaitingByEveryStrategy) {
  FftOptions options{.decomposition = Decomposition::pencils, .components = components};
  const ThereAndBack waiting = there_and_back(blocks, options);
  for (const auto& entry : redistribute::strategies()) {
    if (entry.make == nullptr) continue;
    options.strategy = entry.strategy;
    expect_same(waiting, there_and_back(blocks, piped(options)));
  }
}

TEST_P(Overlap, GivesTheBitsOfWaitingWhereModesAreDroppedAndWantedElsewhere) {
  constexpr Int3 kept{3, 2, 4}, waves{4, 5, 9};
  const Layout wanted = scattered_blocks(waves, comm.size());
  expect_the_bits_of_waiting(blocks, {.decomposition = Decomposition::pencils, .kept = kept, .spectral = wanted});
}

std::string name_of(const testing::TestParamInfo<Pipe>& info) {
  return std::to_string(info.param.depth) + (info.param.pieces == Pieces::planes ? "_planes" : "_components");
}
INSTANTIATE_TEST_SUITE_P(Pipes, Overlap, testing::ValuesIn(pipes), name_of);

TEST(FftPlan, OddAndPrimeSizesHaveTheSameBitsByEveryStrategy) {
  const comm::Communicator comm(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  for (const Int3 cells : {Int3{7, 11, 13}, Int3{15, 23, 9}}) {
    Field<double> alone = noise_on(one_block(cells), 0);
    const FftPlan<double> serial(self, alone.layout());
    Field<Complex> serial_modes(serial.spectral(), 0);
    serial.forward(alone, serial_modes);
    const auto expected = gathered(self, serial_modes);
    for (const auto& entry : redistribute::strategies()) {
      if (entry.make == nullptr) continue;
      const Field<double> field = noise_on(scattered_blocks(cells, comm.size()), comm.rank());
      const FftPlan<double> plan(comm, field.layout(),
                                 {.decomposition = Decomposition::pencils, .strategy = entry.strategy});
      Field<Complex> modes(plan.spectral(), comm.rank());
      plan.forward(field, modes);
      EXPECT_TRUE(have_equal_bits(gathered(comm, modes), expected)) << entry.name;
    }
  }
}

TEST(FftPlan, RanksWithoutPencilsMayHaveModes) {
  constexpr Int3 cells{12, 10, 9};
  const comm::Communicator comm(MPI_COMM_WORLD);
  const Layout blocks = scattered_blocks(cells, comm.size()), wanted = scattered_blocks({7, 10, 9}, comm.size());
  Field<double> field = noise_on(blocks, comm.rank()), expected_back(blocks, comm.rank());
  const FftPlan<double> plain(comm, blocks), few(comm, blocks, {.grid = ProcessGrid{1, 1}, .spectral = wanted});
  Field<Complex> expected(plain.spectral(), comm.rank()), modes(wanted, comm.rank());

  plain.forward(field, expected);
  few.forward(field, modes);
  const bool modes_agree = have_equal_bits(gathered(comm, modes), gathered(comm, expected));
  plain.backward(expected, expected_back);
  few.backward(modes, field);

  EXPECT_TRUE(modes_agree);
  EXPECT_TRUE(have_equal_bits(gathered(comm, field), gathered(comm, expected_back)));
}

// 16 planes at most of one process grid: on 32 ranks (see CMakeLists.txt) pencils.
TEST(FftPlan, MoreRanksThanPlanesGiveTheBitsOfOne) {
  constexpr Int3 cells{16, 16, 16};
  const comm::Communicator comm(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const FftPlan<double> serial(self, one_block(cells));
  Field<double> alone = noise_on(one_block(cells), 0);
  Field<Complex> serial_modes(serial.spectral(), 0);
  serial.forward(alone, serial_modes);
  const auto expected = gathered(self, serial_modes);
  serial.backward(serial_modes, alone);
  const auto expected_back = gathered(self, alone);

  for (const int depth : {1, 2}) {
    Field<double> field = noise_on(scattered_blocks(cells, comm.size()), comm.rank());
    const FftPlan<double> plan(comm, field.layout(), {.depth = depth});
    Field<Complex> modes(plan.spectral(), comm.rank());
    plan.forward(field, modes);
    EXPECT_GE(plan.grid().ranks(), std::min(comm.size(), 32));
    EXPECT_TRUE(have_equal_bits(gathered(comm, modes), expected));
    plan.backward(modes, field);
    EXPECT_TRUE(have_equal_bits(gathered(comm, field), expected_back));
  }
}

TEST(FftTimes, PartsAddUpToTheWhole) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  constexpr Int3 cells{64, 64, 64};
  for (const auto strategy : {redistribute::Strategy::p2p, redistribute::Strategy::alltoallw})
    for (const int depth : {1, 2}) {
      FftTimes times;
      Field<double> field = noise_on(scattered_blocks(cells, comm.size()), comm.rank());
      const FftPlan<double> plan(
          comm, field.layout(),
          {.decomposition = Decomposition::pencils, .strategy = strategy, .depth = depth, .times = &times});
      Field<Complex> modes(plan.spectral(), comm.rank());
      double best = 0.0;
      for (int repeat = 0; repeat < 20 && best < 0.9; ++repeat) {  // something else may run between two parts
        times = {};
        const core::Stopwatch watch;
        plan.forward(field, modes);
        plan.backward(modes, field);
        const double whole = watch.seconds();

        EXPECT_LE(times.total_s(), whole);
        for (const double part : {times.transform_s, times.moves.pack_s, times.moves.exchange_s, times.moves.unpack_s})
          EXPECT_GE(part, 0.0);
        best = std::max(best, times.total_s() / whole);
      }
      EXPECT_GT(best, 0.9);
      EXPECT_GT(times.transform_s, 0.0);
      EXPECT_GT(times.moves.pack_s, 0.0);  // at least what stays on the rank
    }
}

}  // namespace
}  // namespace sidestream::fft
