#include "io/methods/rows.hpp"

#include <gtest/gtest.h>

#include "io/methods/mpi_layouts.hpp"

namespace sidestream::test {

TEST(Rows, ArePartedIntoCallsThatTakeSoManyBytes) {
  io::ArrayGroup group;
  group.runs = {{0, 2, 3}, {1, 5, 1}, {2, 9, 0}, {3, 20, 5}};

  const std::vector<io::Part> parts = io::parts_of(group, 10, 45);

  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].count, 4);
  ASSERT_EQ(parts[1].ranges.size(), 1U);
  EXPECT_EQ(parts[1].start, 4);
  EXPECT_EQ(parts[1].ranges[0].first, 20);
  EXPECT_EQ(parts[2].start, 8);
  EXPECT_EQ(parts[2].ranges[0].first, 24);
  EXPECT_EQ(io::part_or_none(parts, 3).count, 0);
}

TEST(Rows, BeyondWhatAnIntCountsAreSplit) {
  const std::int64_t row_bytes = std::int64_t{1} << 28;
  io::ArrayGroup group;
  group.runs = {{0, 0, 40}};

  const std::vector<io::Part> parts = io::parts_of(group, row_bytes);

  EXPECT_EQ(parts.size(), 10U);
  for (const io::Part& part : parts) EXPECT_LE(part.count * row_bytes, io::most_bytes_a_call);
}

TEST(Rows, OfManyGigabytesAreOneDatatype) {
  const std::int64_t bytes = std::int64_t{5} << 30;
  io::ByteRuns runs;
  runs.add(100, bytes);
  runs.add(bytes + 200, 7);

  const io::MpiType type = runs.type();

  MPI_Count size = 0, lower = 0, extent = 0;
  MPI_Type_size_x(type.raw(), &size);
  MPI_Type_get_extent_x(type.raw(), &lower, &extent);
  EXPECT_EQ(size, bytes + 7);
  EXPECT_EQ(lower, 100);
  EXPECT_EQ(extent, bytes + 107);
}

}  // namespace sidestream::test
