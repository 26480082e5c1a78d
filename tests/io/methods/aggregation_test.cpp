#include "io/methods/aggregated/aggregation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "io/array_samples.hpp"
#include "io/disk/file_system.hpp"
#include "io/methods/aggregated/file_domains.hpp"
#include "io/methods/pretended_lustre.hpp"
#include "io/temporary_folder.hpp"

namespace sidestream::test {

namespace {

constexpr std::int64_t mebibyte = 1 << 20;

// Ten arrays of 229 GiB in all, as of the largest checkpoint of Latham et al. (2012), behind tables of 5000 bytes.
std::vector<io::ByteRange> large_arrays() {
  constexpr std::int64_t bytes = (std::int64_t{229} << 30) / 10;
  std::vector<io::ByteRange> arrays;
  for (int a = 0; a < 10; ++a) arrays.push_back({5000 + a * bytes, bytes});
  return arrays;
}

// Whose it is in this round, for every window of arrays.
std::map<std::int64_t, io::FileDomains::Window> windows_of(const io::FileDomains& domains,
                                                           const std::vector<io::ByteRange>& arrays) {
  std::map<std::int64_t, io::FileDomains::Window> windows;
  for (const io::ByteRange& array : arrays)
    for (std::int64_t offset = array.offset; offset < array.offset + array.bytes;) {
      const io::FileDomains::Window window = domains.window_at(offset);
      windows[window.begin] = window;
      offset = window.end;
    }
  return windows;
}

// A group of one array, a row of `row_bytes` for each run, dealt to the ranks in turn.
struct Sample {
  SampleGroup group;
  io::ArrayFile file;
  Offsets offsets = std::make_shared<std::vector<std::int64_t>>();

  // The file has the group as it is now.
  void take_group() {
    group.group.pack = [g = group](std::size_t array, std::size_t run, std::span<std::byte> out) {
      g.put(array, g.group.runs[run], out);
    };
    file.groups = {group.group};
  }
};

Sample sample_of(const comm::Communicator& comm, int arrays, int runs_a_rank, std::int64_t numbers) {
  Sample sample;
  io::ArrayGroup& group = sample.group.group;
  for (int a = 0; a < arrays; ++a)
    group.arrays.push_back({"array" + std::to_string(a), io::ElementType::float64, {numbers}});
  for (int r = 0; r < runs_a_rank * comm.size(); ++r)
    if (r % comm.size() == comm.rank()) group.runs.push_back({r, r, 1});
  group.rows = group.run_total = std::int64_t{runs_a_rank} * comm.size();
  sample.group.value = [](std::size_t a, std::int64_t row, std::int64_t e) {
    return mixed({static_cast<std::int64_t>(a), row, e});
  };
  sample.take_group();
  sample.file.container = io::Container::raw;
  sample.file.create = raw_maker(sample.offsets, 3);
  return sample;
}

// One array, of which each rank has 2 MiB in a piece.
Sample sample_in_pieces(const comm::Communicator& comm) {
  constexpr int rows = 64;
  Sample sample = sample_of(comm, 1, rows, 4096);
  std::vector<io::RowRun>& runs = sample.group.group.runs;
  for (int r = 0; r < rows; ++r) {
    const std::int64_t row = std::int64_t{rows} * comm.rank() + r;
    runs[static_cast<std::size_t>(r)] = {row, row, 1};
  }
  sample.take_group();
  return sample;
}

}  // namespace

TEST(FileDomains, NoUnitOfTheFileSystemHasTwoWriters) {
  const std::vector<io::ByteRange> arrays = large_arrays();
  for (const std::int64_t unit : {std::int64_t{4096}, mebibyte, 4 * mebibyte}) {
    const io::FileDomains domains(arrays, {512, 65'536, unit, 16 * mebibyte});

    const auto windows = windows_of(domains, arrays);

    std::set<std::pair<std::int64_t, int>> used;
    std::int64_t end = windows.begin()->first;
    for (const auto& [begin, window] : windows) {
      EXPECT_EQ(begin % unit, 0);
      EXPECT_EQ(begin, end);
      EXPECT_LE(window.end - begin, 16 * mebibyte);
      EXPECT_TRUE(used.insert({window.round, window.rank}).second) << "two windows of one rank in a round";
      EXPECT_LT(window.round, domains.rounds());
      end = window.end;
    }
    EXPECT_EQ(end, arrays.back().offset + arrays.back().bytes);
  }
}

TEST(FileDomains, ArraysFarFromEachOtherDoNotMakeEmptyWindows) {
  const std::vector<io::ByteRange> arrays{{100, 3 * mebibyte}, {std::int64_t{1} << 40, 5 * mebibyte}};

  const io::FileDomains domains(arrays, {2, 4, mebibyte, 2 * mebibyte});

  EXPECT_LE(domains.rounds(), 6) << "five domains by two, in windows of a MiB";
  EXPECT_EQ(domains.window_at(std::int64_t{1} << 40).begin, std::int64_t{1} << 40);
}

TEST(FileDomains, AFileOfFewUnitsHasManyRoundsAndEachUnitOneWriter) {
  const std::vector<io::ByteRange> arrays{{65'536, 48 * mebibyte}};

  const io::FileDomains domains(arrays, {8, 16, 4 * mebibyte, 16 * mebibyte});

  const auto windows = windows_of(domains, arrays);
  EXPECT_EQ(windows.size(), 37u) << "three in each whole unit";
  EXPECT_EQ(domains.rounds(), 6);
  std::map<std::int64_t, std::set<int>> writers;
  for (const auto& [begin, window] : windows) {
    EXPECT_EQ(begin % 4096, 0) << "within a page";
    writers[begin / (4 * mebibyte)].insert(window.rank);
  }
  EXPECT_EQ(writers.size(), 13u);
  for (const auto& [unit, ranks] : writers) EXPECT_EQ(ranks.size(), 1u) << unit;
}

TEST(FileDomains, AllWritersHaveWorkInTheLastTurnButFew) {
  const std::vector<io::ByteRange> arrays{{0, 458 * 4 * mebibyte}};

  const auto windows = windows_of(io::FileDomains(arrays, {256, 512, 4 * mebibyte, 16 * mebibyte}), arrays);

  EXPECT_EQ(windows.size(), 458u) << "which are enough not to be divided";
  std::map<int, std::int64_t> bytes;
  for (const auto& [begin, window] : windows) bytes[window.rank] += window.end - window.begin;
  EXPECT_EQ(bytes.size(), 229u) << "two units each";
  EXPECT_GT(bytes.rbegin()->first, 500) << "over all ranks";
}

TEST(FileDomains, ABufferSmallerThanAUnitIsObeyed) {
  const io::FileDomains domains({{100, 1000}}, {1, 1, 4096, 57});

  EXPECT_EQ(domains.window_bytes(), 56);
  EXPECT_EQ(domains.rounds(), 18);
}

TEST(Aggregators, AreBoundedByTheServersOrTheNodes) {
  constexpr std::int64_t bytes = std::int64_t{229} << 30, buffer = 16 * mebibyte;

  EXPECT_EQ(io::chosen_aggregators(bytes, buffer, 65'536, 16'384, 128), 512);
  EXPECT_EQ(io::chosen_aggregators(bytes, buffer, 65'536, 2048, 0), 4096);
  EXPECT_EQ(io::chosen_aggregators(buffer, buffer, 65'536, 2048, 128), 1);
  EXPECT_EQ(io::chosen_aggregators(bytes, buffer, 3, 3, 128), 3);
  EXPECT_EQ(io::chosen_aggregators(60 * mebibyte, 4 * mebibyte, 64, 64, 128), 15);
}

TEST(Aggregation, WritesWholeUnitsEachByOneRankInFewWrites) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 5, 8, 1000);
  const io::WriteOptions options{
      .method = "aggregated", .aggregators = 2, .buffer_bytes = 16 << 10, .is_durable = false};

  const io::AccessStatistics all = total(comm, io::write_array_file(comm, folder / "file", sample.file, options));

  const std::int64_t bytes = 5 * 8 * comm.size() * 8000;
  EXPECT_EQ(all.bytes_written - bytes < 10'000, true);
  EXPECT_LE(all.writes, bytes / (16 << 10) + 8 + 5);
  EXPECT_LE(all.unaligned, 8) << "but for the ends of arrays that do not touch, and the tables";
  EXPECT_GT(all.memory_bytes, 0);
  EXPECT_LE(all.memory_bytes, 6 * (16 << 10) + 2 * 8000 + bytes / comm.size());
}

// Rows of 8 KiB: by themselves small, together more than a large piece.
TEST(Engine, GathersManySmallPiecesHoweverMuchARankHas) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) GTEST_SKIP() << "one rank has all, in one piece";
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 1, 64, 1024);

  const io::AccessStatistics all =
      total(comm, io::write_array_file(comm, folder / "file", sample.file, {.method = "engine", .is_durable = false}));

  EXPECT_LE(all.writes, 4 * comm.size()) << "of " << 64 * comm.size() << " pieces";
}

// Behind rows of 8 KiB that are dealt in turn each rank has 512 KiB in a piece: on the mean pieces are not small.
TEST(Engine, GathersSmallPiecesAndLeavesLargeOnesOfTheSameArraysToTheirRanks) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) GTEST_SKIP() << "one rank writes what it has";
  const TemporaryFolder folder(comm);
  if (io::file_system_of(folder.path(), false).has_large_units()) GTEST_SKIP() << "all are small on this file system";
  constexpr int arrays = 2, small = 32;
  constexpr std::int64_t large = 64;
  Sample sample = sample_of(comm, arrays, small, 1024);
  io::ArrayGroup& group = sample.group.group;
  group.runs.push_back({group.run_total + comm.rank(), group.rows + large * comm.rank(), large});
  group.run_total += comm.size();
  group.rows += large * comm.size();
  sample.take_group();

  const io::AccessStatistics own =
      io::write_array_file(comm, folder / "file", sample.file, {.method = "engine", .is_durable = false});

  const io::AccessStatistics all = total(comm, own);
  EXPECT_LE(all.writes, arrays * comm.size() + 8) << "large pieces, windows and tables, not " << small << " a rank";
  EXPECT_GE(own.bytes_written, arrays * large * 1024 * 8) << "which nobody else writes";
  if (comm.rank() == 0)
    for (std::size_t a = 0; a < arrays; ++a) {
      EXPECT_EQ(bytes_that_differ(folder / "file", (*sample.offsets)[a], sample.group.bytes(a)), 0);
    }
  comm.barrier();
}

TEST(Engine, LeavesLargePiecesToTheirRanks) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_in_pieces(comm);
  if (io::file_system_of(folder.path(), false).has_large_units()) GTEST_SKIP() << "these are small on this file system";

  const io::AccessStatistics all =
      total(comm, io::write_array_file(comm, folder / "file", sample.file, {.method = "engine", .is_durable = false}));

  EXPECT_LE(all.writes, comm.size() + 3) << "a piece each, and the tables";
  EXPECT_EQ(all.memory_bytes, 0) << "no windows are filled";
}

TEST(Aggregation, EveryRunIsPackedOnceHoweverManyWindowsHaveAPartOfIt) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 3, 4, 1000);
  int packed = 0;
  sample.file.groups[0].pack = [&, pack = sample.group.group.pack](std::size_t array, std::size_t run,
                                                                   std::span<std::byte> out) {
    ++packed;
    pack(array, run, out);
  };

  io::write_array_file(comm, folder / "file", sample.file,
                       {.method = "aggregated", .buffer_bytes = 900, .is_durable = false});

  EXPECT_EQ(packed, 3 * 4);
}

TEST(Stripes, AreSetBeforeTheFirstByteAndReadBack) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm), tools(comm);
  const Sample sample = sample_of(comm, 2, 4, 1000);
  const io::WriteOptions options{.method = "aggregated", .stripes = 8, .stripe_bytes = 64 << 10, .is_durable = false};
  const FakeLfs lfs(comm, tools.path());

  const io::AccessStatistics all = total(comm, io::write_array_file(comm, folder / "file", sample.file, options));

  EXPECT_EQ(all.stripes, 8);
  EXPECT_THAT(made_by_mpi(), testing::IsEmpty());
  EXPECT_EQ(io::file_system_of(folder / "file", true).stripes, 8);
  EXPECT_EQ(io::file_system_of(folder / "file", true).unit_bytes, 64 << 10);
  if (comm.rank() == 0) {
    std::size_t next = 0;
    for (std::size_t a = 0; a < 2; ++a)
      EXPECT_EQ(bytes_that_differ(folder / "file", (*sample.offsets)[next++], sample.group.bytes(a)), 0);
  }
  comm.barrier();
}

TEST(Stripes, WithoutTheToolOfLustreAreHintsToMpiBeforeTheFileIsThere) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 2, 4, 1000);
  made_by_mpi();

  const io::AccessStatistics all = total(
      comm, io::write_array_file(comm, folder / "file", sample.file,
                                 {.method = "engine", .stripes = 8, .stripe_bytes = 64 << 10, .is_durable = false}));

  EXPECT_EQ(all.stripes, 0) << "which nobody tells";
  const std::vector<MadeByMpi> made = made_by_mpi();
  ASSERT_EQ(made.size(), comm.rank() == 0 ? 1u : 0u);
  for (const MadeByMpi& file : made) {
    EXPECT_THAT(file.path, testing::HasSubstr("file"));
    EXPECT_EQ(file.stripes, "8");
    EXPECT_EQ(file.stripe_bytes, "65536");
    EXPECT_FALSE(file.was_there);
  }
  EXPECT_TRUE(io::check_commit_record(folder / "file"));
  comm.barrier();
}

// Stripes of a MiB on one server: what a rank has is less than a buffer, though large for a disk.
TEST(Engine, OnLargeUnitsAFewRanksWriteWholeOnes) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  if (comm.size() == 1) GTEST_SKIP() << "one rank writes what it has";
  const TemporaryFolder folder(comm), tools(comm);
  const Sample sample = sample_in_pieces(comm);
  const FakeLfs lfs(comm, tools.path());

  const io::AccessStatistics own =
      io::write_array_file(comm, folder / "file", sample.file,
                           {.method = "engine", .stripes = 1, .stripe_bytes = mebibyte, .is_durable = false});

  EXPECT_GT(total(comm, own).memory_bytes, 0) << "windows are filled";
  const std::int64_t writers = comm.sum(std::int64_t{own.bytes_written >= mebibyte});
  EXPECT_GE(writers, 2) << "one for each unit";
  EXPECT_LE(writers, 4) << "of a server";
  if (comm.rank() == 0) {
    EXPECT_EQ(bytes_that_differ(folder / "file", sample.offsets->front(), sample.group.bytes(0)), 0);
  }
  comm.barrier();
}

// Units of 4 MiB, each written in four rounds; rows of 384 KiB, of which windows have parts.
TEST(Aggregation, UnitsThatTakeSeveralRoundsHaveEveryByteAndEveryRunIsPackedOnce) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm), tools(comm);
  Sample sample = sample_of(comm, 2, 8, 49'152);
  int packed = 0;
  sample.file.groups[0].pack = [&, pack = sample.group.group.pack](std::size_t array, std::size_t run,
                                                                   std::span<std::byte> out) {
    ++packed;
    pack(array, run, out);
  };
  const FakeLfs lfs(comm, tools.path());

  const io::AccessStatistics all = total(
      comm,
      io::write_array_file(comm, folder / "file", sample.file,
                           {.method = "aggregated", .stripes = 4, .stripe_bytes = 4 * mebibyte, .is_durable = false}));

  const auto megabytes = [&](int ranks) { return 2 * 8 * ranks * 49'152 * 8 / mebibyte; };
  EXPECT_EQ(packed, 2 * 8);
  EXPECT_GE(all.writes, megabytes(comm.size()) / 2) << "two and more for each unit of 4 MiB";
  EXPECT_LE(all.writes, megabytes(comm.size()) + 6) << "of a MiB and more, of tables, and where arrays begin and end";
  if (comm.rank() == 0) {
    for (std::size_t a = 0; a < 2; ++a)
      EXPECT_EQ(bytes_that_differ(folder / "file", (*sample.offsets)[a], sample.group.bytes(a)), 0);
  }
  comm.barrier();
}

TEST(AccessSizes, FallIntoTheBinsOfDarshan) {
  io::AccessStatistics statistics;

  for (const std::int64_t bytes : {100, 101, 1024, 1025, 1 << 20, (1 << 20) + 1, 4 << 20, 10 << 20, 1 << 30})
    statistics.add_write(bytes);

  EXPECT_EQ(statistics.write_sizes, (std::array<std::int64_t, 10>{1, 2, 1, 0, 1, 2, 1, 0, 1, 0}));
}

}  // namespace sidestream::test
