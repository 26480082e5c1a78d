// Results whose rows are spread over ranks: written in place, read back on any number of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "file_size_limit.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/io/result_file.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

using testing::HasSubstr;

std::int64_t integer_of(std::int64_t row) {
  return (row << 33) - row;
}

// A number of any kind: also one that is none, one below the normal ones and a zero with a sign.
double number_of(std::int64_t row) {
  if (row % 7 == 1) return std::bit_cast<double>(0x7ff8000000000000 + row);
  if (row % 7 == 2) return -0.0;
  if (row % 7 == 3) return std::numeric_limits<double>::denorm_min() * static_cast<double>(row);
  return 1.0 / static_cast<double>(row + 1);
}

template <typename T, typename F>
std::vector<T> values_of(std::int64_t first, std::int64_t count, F value) {
  std::vector<T> values;
  for (std::int64_t row = first; row < first + count; ++row) values.push_back(value(row));
  return values;
}

// The rows [first, first + count) of a large table, the rows [links_first, ...) of a second one, and on the first rank
// what is small.
mesh::Result part_of_table(std::int64_t first, std::int64_t count, std::int64_t links_first, std::int64_t links,
                           bool is_first) {
  mesh::Result part;
  part.distributed = {"halo", "link"};
  part.add<std::int64_t>("halo", "", "number of the halo", {"halo"}, {count},
                         values_of<std::int64_t>(first, count, integer_of));
  if (is_first) part.add<double>("threshold", "Msun/Mpc^3", "lowest density", {}, {}, {2.5});
  part.add<double>("mass", "Msun", "mass – with dash", {"halo"}, {count}, values_of<double>(first, count, number_of));
  part.add<double>("radius", "Mpc", "", {"halo"}, {count}, values_of<double>(first + 1, count, number_of));
  part.add<std::int64_t>("to", "", "halo of the later step", {"link"}, {links},
                         values_of<std::int64_t>(links_first, links, integer_of));
  if (is_first) {
    part.add<double>("bin", "", "", {"bin"}, {2}, {0.5, 1.5});
    part.attributes = {{"step", std::int64_t{12}}, {"unit", "Mpc³"}};
    part.summary = "many halos";
  }
  return part;
}

// How rows are held: rank k of n has the rows from `cut(k)` to `cut(k + 1)`.
using Cut = std::int64_t (*)(std::int64_t rows, int rank, int ranks);
std::int64_t even(std::int64_t rows, int rank, int ranks) {
  return rows * rank / ranks;
}
std::int64_t all_on_last(std::int64_t rows, int rank, int ranks) {
  return rank == ranks ? rows : 0;
}
std::int64_t uneven(std::int64_t rows, int rank, int ranks) {
  return rank == 0 ? 0 : rank == ranks ? rows : (rows - 1) * rank / ranks / 3;
}

mesh::Result own_part(const comm::Communicator& comm, std::int64_t rows, Cut cut) {
  const int rank = comm.rank(), ranks = comm.size();
  const std::int64_t first = cut(rows, rank, ranks), end = cut(rows, rank + 1, ranks);
  const std::int64_t links_first = even(rows / 2, rank, ranks), links_end = even(rows / 2, rank + 1, ranks);
  return part_of_table(first, end - first, links_first, links_end - links_first, rank == 0);
}

template <typename T>
std::vector<std::uint64_t> bits_of(const std::vector<T>& values) {
  std::vector<std::uint64_t> bits;
  for (const T value : values) bits.push_back(std::bit_cast<std::uint64_t>(value));
  return bits;
}

void expect_same(const mesh::Result& found, const mesh::Result& expected) {
  EXPECT_EQ(found.dimensions, expected.dimensions);
  EXPECT_EQ(found.distributed, expected.distributed);
  EXPECT_EQ(found.attributes, expected.attributes);
  EXPECT_EQ(found.summary, expected.summary);
  ASSERT_EQ(found.columns.size(), expected.columns.size());
  for (const mesh::Column& column : expected.columns) {
    const mesh::Column& other = found.column(column.name);
    EXPECT_EQ(other.unit, column.unit);
    EXPECT_EQ(other.description, column.description);
    EXPECT_EQ(other.dimensions, column.dimensions);
    ASSERT_EQ(other.values.index(), column.values.index()) << column.name;
    const auto bits = [](const auto& values) { return bits_of(values); };
    EXPECT_EQ(std::visit(bits, other.values), std::visit(bits, column.values)) << column.name;
  }
}

class DistributedResultTest : public testing::Test {
 protected:
  // `work` on each of the communicators of the first 1, 2, ... ranks.
  template <typename F>
  void for_each_group(F work) {
    for (int ranks = 1; ranks <= world_.size(); ++ranks) {
      const comm::Communicator some = world_.split(world_.rank() < ranks ? 0 : -1);
      if (!some.is_empty()) work(some);
      world_.barrier();
    }
  }

  void expect_error_on_all_ranks(const std::string& path, const std::string& text = "") {
    try {
      io::read_result(world_, path);
      ADD_FAILURE() << "read " << path;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.where(), HasSubstr(path));
      EXPECT_THAT(error.message(), HasSubstr(text));
    }
    EXPECT_THROW(io::read_result(path), core::Error);
    world_.barrier();
  }

  // A good file, changed on the first rank.
  template <typename F>
  std::string damaged(const std::string& name, F damage) {
    const std::string path = folder_ / name;
    io::write_result(world_, path, own_part(world_, 1000, even));
    if (world_.rank() == 0) {
      std::string bytes = test::content_of(path);
      damage(bytes);
      test::overwrite(path, bytes);
    }
    world_.barrier();
    return path;
  }

  comm::Communicator world_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{world_};
};

TEST_F(DistributedResultTest, ComesBackBitForBitOnAnyNumberOfRanks) {
  for (const std::int64_t rows : {0, 1, 5, 1000, 30000}) {
    const std::string path = folder_ / ("results/halos/" + std::to_string(rows) + ".nc");
    io::write_result(world_, path, own_part(world_, rows, uneven));

    for_each_group([&](const comm::Communicator& readers) {
      const mesh::Result found = io::read_result(readers, path);
      const std::int64_t own = found.dimensions.at("halo"), links = found.dimensions.at("link");
      const auto before = [&](std::int64_t count) {
        const std::vector<std::int64_t> all = readers.all_gather(count);
        return std::accumulate(all.begin(), all.begin() + readers.rank(), std::int64_t{0});
      };
      const std::int64_t first = before(own), links_first = before(links);

      expect_same(found, part_of_table(first, own, links_first, links, readers.rank() == 0));
      EXPECT_EQ(readers.sum(own), rows);
      EXPECT_LE(std::abs(own - rows / readers.size()), 1);
    });
  }
}

TEST_F(DistributedResultTest, TheBytesOfTheFileDoNotDependOnWhoHeldTheRows) {
  for (const std::int64_t rows : {0, 3, 20000}) {
    std::string first;
    for (const Cut cut : {even, all_on_last, uneven})
      for_each_group([&](const comm::Communicator& writers) {
        io::write_result(writers, folder_ / "a.nc", own_part(writers, rows, cut));
        if (writers.rank() != 0) return;
        if (first.empty()) first = test::content_of(folder_ / "a.nc");
        EXPECT_TRUE(test::content_of(folder_ / "a.nc") == first) << writers.size() << " ranks, " << rows << " rows";
      });
  }
}

TEST_F(DistributedResultTest, OneRankAloneReadsAllRows) {
  io::write_result(world_, folder_ / "a.nc", own_part(world_, 100, uneven));

  const mesh::Result all = io::read_result(folder_ / "a.nc");

  expect_same(all, part_of_table(0, 100, 0, 50, true));
}

TEST_F(DistributedResultTest, ExtraAttributesJoinAndWin) {
  io::write_result(world_, folder_ / "a.nc", own_part(world_, 10, even), {{"step", std::int64_t{13}}, {"task", "x"}});

  const mesh::Result found = io::read_result(world_, folder_ / "a.nc");

  if (world_.rank() == 0) {
    EXPECT_EQ(std::get<std::int64_t>(found.attributes.at("step")), 13);
    EXPECT_EQ(std::get<std::string>(found.attributes.at("task")), "x");
  } else {
    EXPECT_TRUE(found.attributes.empty());
  }
}

TEST_F(DistributedResultTest, AResultOfTheFirstRankOnlyMakesTheSameFileAsItAlone) {
  mesh::Result result;
  if (world_.rank() == 0) result.add<double>("mass", "Msun", "mass", {"halo"}, {3}, {1, 2, 3});
  if (world_.rank() == 0) io::write_result(folder_ / "alone.nc", result);

  io::write_result(world_, folder_ / "all.nc", result);

  const mesh::Result found = io::read_result(world_, folder_ / "all.nc");
  EXPECT_EQ(found.columns.size(), world_.rank() == 0 ? 1 : 0);
  EXPECT_TRUE(test::content_of(folder_ / "alone.nc") == test::content_of(folder_ / "all.nc"));
}

TEST_F(DistributedResultTest, OneRankWhoseColumnsDoNotFitIsAnErrorOfAllAndLeavesNothing) {
  const int last = world_.size() - 1;
  const auto expect_refused = [&](const mesh::Result& bad) {
    try {
      io::write_result(world_, folder_ / "a.nc", bad);
      ADD_FAILURE() << "accepted";
    } catch (const core::Error& error) {
      EXPECT_THAT(error.where(), HasSubstr(folder_ / "a.nc"));
    }
    EXPECT_EQ(test::entries_of(folder_.path()), 0);
    world_.barrier();
  };

  mesh::Result bad = own_part(world_, 10, even);
  if (world_.rank() == last) bad.columns.front().values = std::vector<std::int64_t>(99);
  expect_refused(bad);

  bad = own_part(world_, 10, even);
  bad.distributed.insert("nothing");
  expect_refused(bad);

  bad = own_part(world_, 10, even);
  bad.add<double>("matrix", "", "", {"halo", "axis"}, {bad.dimensions.at("halo"), 2},
                  std::vector<double>(static_cast<std::size_t>(2 * bad.dimensions.at("halo"))));
  expect_refused(bad);

  if (world_.size() == 1) return;
  bad = own_part(world_, 10, even);
  if (world_.rank() == last)
    for (mesh::Column& column : bad.columns)
      if (column.name == "mass") column.unit = "g";
  expect_refused(bad);

  bad = world_.rank() == last ? mesh::Result() : own_part(world_, 10, even);
  expect_refused(bad);
}

TEST_F(DistributedResultTest, ADiskThatFillsUpOnOneRankLeavesTheEarlierResult) {
  io::write_result(world_, folder_ / "a.nc", own_part(world_, 10, even));

  {
    const test::FileSizeLimit limit(world_.rank() == world_.size() - 1 ? 100000 : std::numeric_limits<int>::max());
    EXPECT_THROW(io::write_result(world_, folder_ / "a.nc", own_part(world_, 100000, even)), core::Error);
  }

  EXPECT_EQ(world_.sum(io::read_result(world_, folder_ / "a.nc").dimensions.at("halo")), 10);
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
}

TEST_F(DistributedResultTest, AFileThatWasCutIsAnErrorOnAllRanks) {
  for (const double part : {0.0, 0.1, 0.5, 0.9, 0.999})
    expect_error_on_all_ranks(damaged("cut" + std::to_string(part), [&](std::string& bytes) {
      bytes.resize(static_cast<std::size_t>(part * static_cast<double>(bytes.size())));
    }));
}

TEST_F(DistributedResultTest, ARowThatWasChangedIsAnErrorThatNamesTheColumn) {
  const std::int64_t row = integer_of(700);
  const std::string path = damaged("row", [&](std::string& bytes) {
    const std::size_t place = bytes.find(std::string(reinterpret_cast<const char*>(&row), sizeof row));
    ASSERT_NE(place, std::string::npos);
    bytes[place + 2] = static_cast<char>(bytes[place + 2] ^ 16);
  });

  expect_error_on_all_ranks(path, "`halo`");
}

TEST_F(DistributedResultTest, ATableThatWasChangedIsAnErrorOnAllRanks) {
  const std::string path = damaged("table", [](std::string& bytes) { bytes[bytes.find("mass")] = 'b'; });

  expect_error_on_all_ranks(path);
}

TEST_F(DistributedResultTest, AFileThatIsNotThereIsAnErrorOnAllRanks) {
  expect_error_on_all_ranks(folder_ / "missing.nc");
}

TEST_F(DistributedResultTest, RowsOfManyRanksAreNotWrittenByOne) {
  EXPECT_THROW(io::write_result(folder_ / "a.nc", part_of_table(0, 3, 0, 1, true)), core::Error);
}

}  // namespace
}  // namespace sidestream
