// More rows than 31 bits count, in files of which almost nothing is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "io/containers/hdf5/hdf5_handle.hpp"
#include "io/disk/commit_record.hpp"
#include "io/results/result_reader.hpp"
#include "io/results/result_rows.hpp"
#include "io/results/result_writer.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/array_file.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

constexpr std::int64_t many_rows = (std::int64_t{1} << 31) + 12'345;

std::int64_t value_of(std::int64_t row) {
  return row * 3 - 1;
}

std::vector<std::int64_t> values_of(io::RowRange rows) {
  std::vector<std::int64_t> values;
  for (std::int64_t row = rows.first; row < rows.first + rows.count; ++row) values.push_back(value_of(row));
  return values;
}

class LargeCounts : public testing::Test {
 protected:
  comm::Communicator world_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{world_};

  // The first and the last few of the rows that a rank is dealt.
  std::vector<io::RowRange> some_rows() const {
    const io::RowRange own = io::dealt_rows(many_rows, world_.rank(), world_.size());
    return {{own.first, 100}, {own.first + own.count - 100, 100}};
  }
};

TEST_F(LargeCounts, RowsAreDealtWithoutGapsAndTheirSumKnowsTheirNumbers) {
  std::int64_t next = 0;
  for (int rank = 0; rank < 4096; ++rank) {
    const io::RowRange rows = io::dealt_rows(many_rows * 512 + 7, rank, 4096);
    ASSERT_EQ(rows.first, next);
    next += rows.count;
  }
  EXPECT_EQ(next, many_rows * 512 + 7);
  const std::vector<std::int64_t> one{42};
  EXPECT_NE(io::checksum_of_rows(5, std::as_bytes(std::span(one))),
            io::checksum_of_rows(5 + (std::int64_t{1} << 32), std::as_bytes(std::span(one))));
}

// A result file with room for all rows, into which each rank writes some; read back where the file says they are.
TEST_F(LargeCounts, RowsOfAResultAreFoundWhereTheyAre) {
  const std::string path = folder_ / "large.nc";
  mesh::Result result;
  result.distributed = {"halo"};
  result.add<std::int64_t>("id", "1", "number of the halo", {"halo"}, {0}, {});
  result.add<double>("mass", "Msun", "mass", {"halo"}, {0}, {});
  const std::vector<io::SpreadColumn> spread{{"id", "1", "number of the halo", "halo", false, many_rows, 0, 7},
                                             {"mass", "Msun", "mass", "halo", true, many_rows, 0, 8}};
  const std::map<std::string, std::int64_t> lengths{{"halo", many_rows}};
  std::vector<std::int64_t> offsets{0, 0};
  world_.agree_on([&] {
    if (world_.rank() != 0) return;
    const io::QuietHdf5 quiet;
    io::ResultWriter writer(io::create_result_at(path), result, spread, lengths);
    writer.write_all({});
    offsets = {writer.offset("id"), writer.offset("mass")};
    writer.close();
    const io::InputFile made(path);
    const auto read = [&](std::int64_t offset, std::span<std::byte> bytes) { made.read(offset, bytes); };
    const std::vector<io::ByteRange> ranges{{offsets[0], 8 * many_rows}, {offsets[1], 8 * many_rows}};
    const auto record = io::commit_record(ranges, made.size_bytes(), read);
    io::OutputFile file(path, io::OutputFile::Open::modify);
    file.write_at(made.size_bytes(), record);
    file.close();
  });
  offsets = world_.broadcast(offsets);

  for (const io::RowRange& rows : some_rows()) {
    const std::vector<std::int64_t> values = values_of(rows);
    io::OutputFile file(path, io::OutputFile::Open::modify);
    file.write_at(offsets[0] + 8 * rows.first, std::as_bytes(std::span(values)));
    file.close();
  }
  world_.barrier();
  const io::StoredResult stored = io::read_stored_result(path);

  EXPECT_EQ(stored.result.dimensions.at("halo"), many_rows);
  ASSERT_EQ(stored.spread.size(), 2u);
  EXPECT_EQ(stored.spread[0].rows, many_rows);
  EXPECT_GT(std::abs(stored.spread[1].offset - stored.spread[0].offset), std::int64_t{1} << 34);
  const auto told = io::spread_columns_from(io::to_message(stored.spread));
  EXPECT_EQ(told[0].rows, many_rows);
  EXPECT_EQ(told[1].offset, stored.spread[1].offset);
  const io::InputFile file(path);
  for (const io::RowRange& rows : some_rows()) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(rows.count));
    file.read(told[0].offset + 8 * rows.first, std::as_writable_bytes(std::span(values)));
    EXPECT_EQ(values, values_of(rows));
  }
  world_.barrier();
}

// In the folder where the test runs, which lies on a disk: in memory, room is taken when it is reserved.
TEST_F(LargeCounts, RanksWriteRowsBehindThatMany) {
  const std::string path = world_.broadcast("large_counts_" + std::to_string(::getpid()) + ".raw");
  io::ArrayFile file;
  file.container = io::Container::raw;
  io::ArrayGroup& group = file.groups.emplace_back();
  group.rows = many_rows;
  group.run_total = 2 * world_.size();
  group.arrays.push_back({"value", io::ElementType::int64, {}});
  for (const io::RowRange& rows : some_rows())
    group.runs.push_back({2 * world_.rank() + std::ssize(group.runs), rows.first, rows.count});
  group.pack = [own = group.runs](std::size_t, std::size_t run, std::span<std::byte> out) {
    const std::vector<std::int64_t> values = values_of({own[run].first, own[run].count});
    std::ranges::copy(std::as_bytes(std::span(values)), out.begin());
  };
  group.checksums = "checksums";
  file.create = [&](const std::string& where, std::span<const io::Array>, std::span<const std::int64_t> rows) {
    io::OutputFile head(where, io::OutputFile::Open::modify);
    head.write("a table");
    head.close();
    return std::vector<std::int64_t>{16, 16 + rows[0] * 8};
  };

  struct statfs disk {};
  const bool is_in_memory = ::statfs(".", &disk) != 0 || disk.f_type == 0x01021994;
  if (!world_.all(!is_in_memory && std::filesystem::space(".").available > 20u * many_rows))
    GTEST_SKIP() << "not allowed here: the folder is no disk with room for 40 GB";
  io::write_array_file(world_, path, file, {.method = "engine", .is_durable = false});

  const io::InputFile written(path);
  for (const io::RowRun& run : group.runs) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(run.count));
    written.read(16 + 16 * world_.size() + 8 * run.first, std::as_writable_bytes(std::span(values)));
    EXPECT_EQ(values, values_of({run.first, run.count}));
  }
  EXPECT_TRUE(io::check_commit_record(path));
  world_.barrier();
  if (world_.rank() == 0) std::filesystem::remove(path);
}

}  // namespace
}  // namespace sidestream
