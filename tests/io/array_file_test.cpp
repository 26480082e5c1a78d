#include "sidestream/io/array_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "io/array_samples.hpp"
#include "io/file_size_limit.hpp"
#include "io/temporary_folder.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::test {

namespace {

using io::AccessStatistics;
using io::ArrayFile;
using io::Container;
using io::WriteOptions;

// Arrays one behind the other, after some text and before some more.
struct Sample {
  SampleGroup group;
  ArrayFile file;
  Offsets offsets = std::make_shared<std::vector<std::int64_t>>();

  // With the record before the arrays, and nothing behind them.
  Sample& with_record_inside() {
    file.record = "record";
    file.create = [offsets = offsets](const std::string& path, std::span<const io::Array> arrays,
                                      std::span<const std::int64_t> rows) {
      io::OutputFile out(path, io::OutputFile::Open::modify);
      out.write("a table before the record");
      out.close();
      std::vector<std::int64_t> places{8192};
      for (std::size_t a = 0; a + 1 < arrays.size(); ++a)
        places.push_back(places.back() + rows[a] * arrays[a].row_bytes());
      offsets->assign(places.begin() + 1, places.end());
      return places;
    };
    return *this;
  }

  void finish() {
    group.value = [](std::size_t a, std::int64_t row, std::int64_t e) {
      return mixed({static_cast<std::int64_t>(a), row, e});
    };
    group.group.pack = [g = group](std::size_t array, std::size_t run, std::span<std::byte> out) {
      g.put(array, g.group.runs[run], out);
    };
    file.container = Container::raw;
    file.groups = {group.group};
    file.create = [offsets = offsets](const std::string& path, std::span<const io::Array> arrays,
                                      std::span<const std::int64_t> rows) {
      const std::string text = "a table before the arrays";
      offsets->assign(1, static_cast<std::int64_t>(text.size()));
      for (std::size_t a = 0; a < arrays.size(); ++a)
        offsets->push_back(offsets->back() + rows[a] * arrays[a].row_bytes());
      io::OutputFile out(path, io::OutputFile::Open::modify);
      out.write(text);
      out.write_at(offsets->back(), std::as_bytes(std::span("a table behind them")));
      out.close();
      offsets->pop_back();
      return *offsets;
    };
  }
  std::int64_t wrong_bytes(const std::string& path) const {
    std::int64_t count = 0;
    for (std::size_t a = 0; a < group.group.arrays.size(); ++a)
      count += bytes_that_differ(path, (*offsets)[a], group.bytes(a));
    return count;
  }
};

// Runs of `rows` rows, dealt to the ranks in turn or `consecutive` ones to each.
Sample sample_of(const comm::Communicator& comm, int arrays, int runs_a_rank, std::int64_t rows,
                 std::int64_t row_length, bool is_consecutive = false) {
  Sample sample;
  io::ArrayGroup& group = sample.group.group;
  for (int a = 0; a < arrays; ++a)
    group.arrays.push_back({"array" + std::to_string(a), io::ElementType::float64, {row_length}});
  for (int r = 0; r < runs_a_rank * comm.size(); ++r) {
    const int owner = is_consecutive ? r / runs_a_rank : r % comm.size();
    if (owner == comm.rank()) group.runs.push_back({r, group.rows, rows});
    group.rows += rows;
  }
  group.run_total = std::int64_t{runs_a_rank} * comm.size();
  sample.finish();
  return sample;
}

WriteOptions by(const std::string& method, int aggregators = 0, std::int64_t buffer_bytes = 16 << 20) {
  return {.method = method, .aggregators = aggregators, .buffer_bytes = buffer_bytes, .is_durable = false};
}

constexpr std::int64_t record_writes = 2;  // of the tables, and of the record with what lies before it

// Collective.
void expect_right_bytes(const comm::Communicator& comm, const std::string& path, const Sample& sample) {
  comm.barrier();
  if (comm.rank() == 0) {
    EXPECT_EQ(sample.wrong_bytes(path), 0);
  }
  comm.barrier();
}

}  // namespace

TEST(ArrayFile, AnyNumberOfAggregatorsAndAnyBufferWriteTheSameBytes) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 5, 3, 4, 7);

  for (int aggregators = 1; aggregators <= comm.size(); ++aggregators)
    for (const std::int64_t buffer_bytes : {1, 57, 300, 5000, 1 << 20}) {
      io::write_array_file(comm, folder / "file", sample.file, by("aggregated", aggregators, buffer_bytes));
      expect_right_bytes(comm, folder / "file", sample);
    }
}

TEST(ArrayFile, EachAggregatorWritesOnce) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 12, 2, 4, 7);

  for (int aggregators = 1; aggregators <= comm.size(); ++aggregators) {
    const AccessStatistics all =
        total(comm, io::write_array_file(comm, folder / "file", sample.file, by("aggregated", aggregators)));
    // The share of an aggregator begins and ends within an array: a piece, whole arrays, a piece.
    EXPECT_LE(all.writes, (aggregators == 1 ? 1 : 3 * aggregators) + record_writes);
  }
}

TEST(ArrayFile, ABufferSmallerThanAnArrayBoundsTheSizeOfWrites) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 2, 5, 4, 16);

  const AccessStatistics all =
      total(comm, io::write_array_file(comm, folder / "file", sample.file, by("aggregated", 1, 1024)));

  const std::int64_t array_bytes = 5 * comm.size() * 4 * 128;
  EXPECT_EQ(all.writes, (2 * array_bytes + 1023) / 1024 + record_writes);
}

TEST(ArrayFile, LargeRowsThatFollowEachOtherAreWrittenAtOnceByTheirRank) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 3, 5, 1, 8192, true);

  const AccessStatistics own = io::write_array_file(comm, folder / "file", sample.file, by("engine"));

  EXPECT_EQ(own.writes, 3 + (comm.rank() == 0 ? record_writes : 0));
  expect_right_bytes(comm, folder / "file", sample);
}

TEST(ArrayFile, WhatIsSmallIsWrittenByOneRankHoweverManyHaveChecksums) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 3, 5, 1, 8192, true);
  sample.file.groups[0].checksums = "checksums";

  const AccessStatistics own = io::write_array_file(comm, folder / "file", sample.file, by("engine"));

  EXPECT_EQ(own.writes, 3 + (comm.rank() == 0 ? record_writes : 0));
  EXPECT_TRUE(io::check_commit_record(folder / "file"));
  comm.barrier();
}

TEST(ArrayFile, WhatIsSmallIsOneWriteWhereTheRecordIsInside) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 3, 5, 1, 8192, true).with_record_inside();
  sample.file.groups[0].checksums = "checksums";

  const AccessStatistics own = io::write_array_file(comm, folder / "file", sample.file, by("engine"));

  EXPECT_EQ(own.writes, 3 + (comm.rank() == 0 ? 1 : 0));
  EXPECT_TRUE(io::check_commit_record(folder / "file"));
  comm.barrier();
}

TEST(ArrayFile, ARecordWhereNobodyLooksForItIsRefused) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 3, 5, 1, 4).with_record_inside();
  sample.file.create = [create = sample.file.create](auto&&... words) {
    std::vector<std::int64_t> places = create(words...);
    places[0] += 8;
    return places;
  };

  EXPECT_THROW(io::write_array_file(comm, folder / "file", sample.file, by("engine")), core::Error);
}

TEST(ArrayFile, SmallRowsArePutTogetherByTheEngine) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample sample = sample_of(comm, 3, 50, 1, 4);

  const AccessStatistics all = total(comm, io::write_array_file(comm, folder / "file", sample.file, by("engine")));

  EXPECT_LE(all.writes, 3 + record_writes);
  expect_right_bytes(comm, folder / "file", sample);
}

TEST(ArrayFile, AFullDiskOnOneRankIsAnErrorOfAllAndLeavesNothing) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  const Sample small = sample_of(comm, 3, 50, 1, 4), large = sample_of(comm, 3, 5, 1, 8192, true);

  for (const Sample* sample : {&small, &large})
    for (const char* method : {"engine", "aggregated"})
      for (int failing = 0; failing < comm.size(); ++failing) {
        const WriteOptions options = by(method, comm.size());
        const AccessStatistics own = io::write_array_file(comm, folder / "file", sample->file, options);
        if (comm.rank() == 0) std::filesystem::remove(folder / "file");
        if (comm.max(comm.rank() == failing ? own.writes : 0) == 0) continue;  // others write for it
        // Rows of the last array are beyond the limit, wherever they are written.
        const FileSizeLimit limit(comm.rank() == failing ? 100 : RLIM_INFINITY);
        EXPECT_THROW(io::write_array_file(comm, folder / "file", sample->file, options), core::Error);
        comm.barrier();
        EXPECT_EQ(entries_of(folder.path()), 0) << method << " " << failing;
        comm.barrier();
      }

  EXPECT_NO_THROW(io::write_array_file(comm, folder / "file", small.file, by("aggregated")));
  expect_right_bytes(comm, folder / "file", small);
}

TEST(ArrayFile, AFailureToPackOnOneRankIsAnErrorOfAll) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 3, 4, 2, 4);
  if (comm.rank() == comm.size() - 1)
    sample.file.groups[0].pack = [](std::size_t, std::size_t, std::span<std::byte>) {
      throw core::Error("these rows cannot be packed");
    };

  for (const io::WriteMethod& method : io::write_methods()) {
    if (std::ranges::find(method.containers, Container::raw) == method.containers.end()) continue;
    EXPECT_THAT([&] { io::write_array_file(comm, folder / "file", sample.file, by(method.name, 1, 100)); },
                testing::ThrowsMessage<core::Error>(testing::HasSubstr("cannot be packed")))
        << method.name;
  }
  comm.barrier();
  EXPECT_EQ(entries_of(folder.path()), 0);
}

TEST(ArrayFile, WrongRowsOfOneRankAreAnErrorOfAll) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const TemporaryFolder folder(comm);
  Sample sample = sample_of(comm, 1, 2, 2, 4);
  if (comm.rank() == 0) std::ranges::reverse(sample.file.groups[0].runs);

  EXPECT_THROW(io::write_array_file(comm, folder / "file", sample.file, by("engine")), core::Error);
}

TEST(ArrayFile, AMethodIsFoundByNameAndMustSuitTheFile) {
  EXPECT_EQ(io::write_method("", Container::raw).name, "engine");
  EXPECT_EQ(io::write_method("mpiio-derived", Container::raw).name, "mpiio-derived");
  EXPECT_THAT(
      [] { io::write_method("hdf5-colective", Container::hdf5); },
      testing::Throws<core::Error>(testing::Property(&core::Error::hint, testing::HasSubstr("hdf5-collective"))));
  EXPECT_THROW(io::write_method("hdf5-collective", Container::netcdf), core::Error);
  EXPECT_THROW(io::write_method("pnetcdf-blocking", Container::hdf5), core::Error);
}

class CommitRecord : public testing::Test {
 protected:
  enum class Verdict { whole, without_record, damaged };

  // The bytes of the sample's file, on the first rank.
  std::string written() const {
    io::write_array_file(comm, folder / "file", sample.file, by("engine"));
    return comm.rank() == 0 ? content_of(folder / "file") : "";
  }
  std::string written_with_record_inside() {
    sample.with_record_inside();
    return written();
  }
  Verdict verdict_of(const std::string& bytes) const {
    overwrite(folder / "other", bytes);
    try {
      return io::check_commit_record(folder / "other") ? Verdict::whole : Verdict::without_record;
    } catch (const core::Error&) {
      return Verdict::damaged;
    }
  }
  static std::string flipped(std::string bytes, std::size_t at) {
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    return bytes;
  }
  static std::string with_number(std::string bytes, std::size_t at, std::int64_t number) {
    std::memcpy(bytes.data() + at, &number, sizeof number);
    return bytes;
  }

  static constexpr std::size_t place = 8192;  // of one inside
  const comm::Communicator comm{MPI_COMM_WORLD};
  const TemporaryFolder folder{comm};
  Sample sample = sample_of(comm, 2, 2, 1, 4);
};

TEST_F(CommitRecord, AnyFlippedByteOutsideTheArraysIsFound) {
  const std::string whole = written();
  if (comm.rank() != 0) return;
  const auto first = static_cast<std::size_t>(sample.offsets->front());
  const std::size_t last = first + 2 * sample.group.bytes(0).size(), mark = whole.size() - 16;
  ASSERT_EQ(verdict_of(whole), Verdict::whole);

  for (std::size_t i = 0; i < whole.size(); ++i) {
    const bool is_in_arrays = i >= first && i < last;
    EXPECT_EQ(verdict_of(flipped(whole, i)), is_in_arrays ? Verdict::whole
                                             : i >= mark  ? Verdict::without_record
                                                          : Verdict::damaged)
        << i;
  }
}

TEST_F(CommitRecord, AnyFlippedByteOutsideTheArraysIsFoundWhereTheRecordIsInside) {
  const std::string whole = written_with_record_inside();
  if (comm.rank() != 0) return;
  const auto first = static_cast<std::size_t>(sample.offsets->front());
  constexpr std::size_t mark = 16, table = 32;
  ASSERT_EQ(verdict_of(whole), Verdict::whole);

  for (std::size_t i = 0; i < whole.size(); i += i < table || i >= place - table ? 1 : 64) {
    const bool is_in_mark = i >= place && i < place + mark;
    EXPECT_EQ(verdict_of(flipped(whole, i)), i >= first   ? Verdict::whole
                                             : is_in_mark ? Verdict::without_record
                                                          : Verdict::damaged)
        << i;
  }
}

TEST_F(CommitRecord, AFileCutOrContinuedBehindARecordInsideIsDamaged) {
  const std::string whole = written_with_record_inside();
  if (comm.rank() != 0) return;
  constexpr std::size_t head = 24;

  for (std::size_t length = place - 8; length < whole.size(); ++length)
    EXPECT_EQ(verdict_of(whole.substr(0, length)), length < place + head ? Verdict::without_record : Verdict::damaged)
        << length;
  EXPECT_EQ(verdict_of(whole + " "), Verdict::damaged);
}

TEST_F(CommitRecord, AFileCutAnywhereHasNone) {
  const std::string whole = written();
  if (comm.rank() != 0) return;

  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(verdict_of(whole.substr(0, length)), Verdict::without_record) << length;
}

TEST_F(CommitRecord, AbsurdNumbersOfOneInsideAreDamage) {
  const std::string whole = written_with_record_inside();
  if (comm.rank() != 0) return;

  for (std::size_t offset = place + 16; offset < static_cast<std::size_t>(sample.offsets->front()); offset += 8)
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 62, std::int64_t{-1} << 63})
      EXPECT_EQ(verdict_of(with_number(whole, offset, value)), Verdict::damaged) << offset << " " << value;
}

TEST_F(CommitRecord, AbsurdNumbersInItAreDamage) {
  const std::string whole = written();
  if (comm.rank() != 0) return;

  for (std::size_t number = 1; number <= 6; ++number)
    for (const std::int64_t value : {std::int64_t{-1}, std::int64_t{1} << 62, std::int64_t{-1} << 62})
      EXPECT_EQ(verdict_of(with_number(whole, whole.size() - 16 - 8 * number, value)), Verdict::damaged)
          << number << " " << value;
}

}  // namespace sidestream::test
