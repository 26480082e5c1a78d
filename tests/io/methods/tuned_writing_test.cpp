#include "io/methods/aggregated/tuned_writing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "io/array_samples.hpp"
#include "io/disk/file_system.hpp"
#include "io/methods/pretended_lustre.hpp"
#include "io/temporary_folder.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/redistribute/exchange_choice.hpp"

namespace sidestream::test {

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

class TunedWriting : public testing::Test {
 protected:
  std::string wisdom() const {
    world_.barrier();
    return content_of(folder_ / "wisdom.json");
  }
  // Of a file of so many bytes, where one way takes no time and the others some.
  io::TunedWriting tuned(std::int64_t bytes, const io::WriteOptions& options = {}) {
    return io::tuned_writing(comm_, folder_ / "to come", bytes, options, [this](const io::WriteOptions& way) {
      ++trials_;
      if (is_full_) comm_.agree_on([] { throw core::Error("the disk is full"); });
      const bool is_fast =
          fast_stripes_ > 0 ? way.stripes == fast_stripes_
                            : way.method == "aggregated" && way.aggregators == 1 && way.buffer_bytes == 16 * mebibyte;
      std::this_thread::sleep_for(std::chrono::milliseconds(is_fast ? 0 : 20));
    });
  }

  const comm::Communicator world_{MPI_COMM_WORLD};
  const TemporaryFolder folder_{world_};
  const comm::Communicator comm_ = redistribute::with_exchange(world_, {.wisdom = (folder_ / "wisdom.json")});
  int trials_ = 0, fast_stripes_ = 0;
  bool is_full_ = false;
};

}  // namespace

TEST_F(TunedWriting, TheFastestWayIsTakenAndKept) {
  const io::TunedWriting found = tuned(100 * mebibyte);

  EXPECT_EQ(found.name, world_.size() == 1 ? "engine" : "aggregated, 1 writer, 16 MiB");
  EXPECT_EQ(found.options.method, world_.size() == 1 ? "engine" : "aggregated");
  if (world_.size() == 1) return;
  EXPECT_EQ(found.options.aggregators, 1);
  EXPECT_EQ(found.options.buffer_bytes, 16 * mebibyte);
  EXPECT_LE(trials_, 8);
  EXPECT_EQ(found.reason, "the fastest in " + std::to_string(trials_) + " trials");
  EXPECT_THAT(wisdom(), testing::HasSubstr("aggregated, 1 writer, 16 MiB"));
  EXPECT_THAT(wisdom(), testing::HasSubstr(io::name_of_file_system(folder_.path())));
  EXPECT_NE(io::name_of_file_system(folder_.path()), "unknown");

  const int measured = trials_;
  EXPECT_EQ(tuned(100 * mebibyte).name, found.name);
  for (const std::int64_t neighbour : {64, 300, 511}) EXPECT_EQ(tuned(neighbour * mebibyte).name, found.name);
  EXPECT_EQ(tuned(511 * mebibyte).reason, "known from earlier trials");
  EXPECT_EQ(trials_, measured);
  tuned(512 * mebibyte);
  EXPECT_GT(trials_, measured) << "another class of sizes";
  EXPECT_LE(trials_, measured + 8);
}

TEST_F(TunedWriting, SmallFilesAreNotWorthATrial) {
  const io::TunedWriting found = tuned(64 * mebibyte - 1);

  EXPECT_EQ(found.name, "engine");
  EXPECT_EQ(found.reason, "below 64 MiB nothing is tried");
  EXPECT_EQ(trials_, 0);
  EXPECT_EQ(wisdom(), "");
}

TEST_F(TunedWriting, WhatIsSaidStays) {
  io::WriteOptions said;
  said.aggregators = 2;
  said.stripes = 8;
  const io::TunedWriting found = tuned(200 * mebibyte, said);

  EXPECT_EQ(found.options.stripes, 8);
  EXPECT_EQ(found.options.aggregators, 2);
}

TEST_F(TunedWriting, OnAFileSystemThatHasStripesTheirBestNumberIsFoundToo) {
  const PretendedLustre lustre;
  fast_stripes_ = 4;

  const io::TunedWriting found = tuned(100 * mebibyte);

  EXPECT_EQ(found.options.stripes, 4);
  EXPECT_THAT(found.name, testing::EndsWith(", 4 stripes"));
  EXPECT_LE(trials_, 2 * 8);
  EXPECT_EQ(tuned(100 * mebibyte).options.stripes, 4);
  EXPECT_EQ(tuned(100 * mebibyte).reason, "known from earlier trials");
}

TEST_F(TunedWriting, WhereNothingCanBeTriedTheEngineWritesAndNothingIsKept) {
  is_full_ = true;

  const io::TunedWriting found = tuned(5000 * mebibyte);

  EXPECT_EQ(found.name, "engine");
  EXPECT_EQ(found.reason, world_.size() > 1 ? "a trial failed" : "it is the only way");
  EXPECT_EQ(wisdom(), "");
}

// Rows of a MiB, of which a rank has every so many.
TEST_F(TunedWriting, AFileIsWrittenAsTheFastestTrialWasAndNoTrialIsLeft) {
  constexpr std::int64_t rows = 64;
  io::ArrayGroup group;
  group.arrays = {{"height", io::ElementType::float64, {mebibyte / 8}}};
  group.rows = group.run_total = rows;
  for (std::int64_t row = comm_.rank(); row < rows; row += comm_.size()) group.runs.push_back({row, row, 1});
  const auto number_of = [](std::int64_t row) { return static_cast<std::byte>(row + 1); };
  group.pack = [runs = group.runs, number_of](std::size_t, std::size_t run, std::span<std::byte> out) {
    std::ranges::fill(out, number_of(runs[run].first));
  };
  const auto offsets = std::make_shared<std::vector<std::int64_t>>();
  const io::ArrayFile file{io::Container::raw, "", {group}, raw_maker(offsets, 3)};
  const auto write = [&] {
    return io::write_array_file(comm_, folder_ / "tuned", file, {.method = "tuned", .is_durable = false});
  };

  const io::AccessStatistics first = write();

  EXPECT_THAT(first.chosen_because, testing::StartsWith(comm_.size() > 1 ? "the fastest in " : "it is the only way"));
  EXPECT_EQ(io::total(comm_, first).memory_bytes > 0, first.chosen.starts_with("aggregated")) << first.chosen;
  if (world_.rank() == 0) {
    std::vector<std::byte> expected;
    for (std::int64_t row = 0; row < rows; ++row) expected.insert(expected.end(), mebibyte, number_of(row));
    EXPECT_EQ(bytes_that_differ(folder_ / "tuned", offsets->front(), expected), 0);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    EXPECT_THAT(names, testing::Contains("tuned"));
    EXPECT_THAT(names, testing::Each(testing::Not(testing::HasSubstr(".tuned")))) << "no trial is left";
  }
  world_.barrier();
  if (comm_.size() == 1) return;
  const io::AccessStatistics again = write();
  EXPECT_EQ(again.chosen, first.chosen);
  EXPECT_EQ(again.chosen_because, "known from earlier trials");
}

TEST_F(TunedWriting, ASmallFileIsThatOfTheEngine) {
  SampleGroup sample;
  sample.group.arrays = {{"height", io::ElementType::float64, {1000}}};
  sample.group.rows = sample.group.run_total = comm_.size();
  sample.group.runs = {{comm_.rank(), comm_.rank(), 1}};
  sample.value = [](std::size_t, std::int64_t row, std::int64_t e) { return mixed({row, e}); };
  sample.group.pack = [sample](std::size_t array, std::size_t run, std::span<std::byte> out) {
    sample.put(array, sample.group.runs[run], out);
  };
  const auto offsets = std::make_shared<std::vector<std::int64_t>>();
  const io::ArrayFile file{io::Container::raw, "", {sample.group}, raw_maker(offsets, 3)};

  const io::AccessStatistics by_engine =
      io::write_array_file(comm_, folder_ / "engine", file, {.method = "engine", .is_durable = false});
  const io::AccessStatistics tuned =
      io::write_array_file(comm_, folder_ / "tuned", file, {.method = "tuned", .is_durable = false});

  EXPECT_EQ(by_engine.chosen, "");
  EXPECT_EQ(tuned.chosen, "engine");
  EXPECT_EQ(tuned.chosen_because, "below 64 MiB nothing is tried");
  if (world_.rank() == 0) {
    EXPECT_EQ(content_of(folder_ / "tuned"), content_of(folder_ / "engine"));
  }
  world_.barrier();
}

}  // namespace sidestream::test
