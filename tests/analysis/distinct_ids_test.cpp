// Particles of one id are noticed, wherever they are and however ids are numbered.
#include "analysis/friends_of_friends/distinct_ids.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(),
                       highest = std::numeric_limits<std::int64_t>::max();

TEST(DistinctIds, OfAnyKindAreAccepted) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const auto r = static_cast<std::int64_t>(comm.rank());
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{7}, std::int64_t{4096}, std::int64_t{1} << 50}) {
    std::vector<std::int64_t> ids;
    for (std::int64_t n = 0; n < 1000; ++n) ids.push_back((1000 * r + n - 500) * step);
    require_distinct(ids);
    require_distinct(comm, ids);
  }
  require_distinct(std::vector<std::int64_t>{lowest, highest, 0, -1});
  require_distinct(comm, {});
}

TEST(DistinctIds, TwoOfOneIdAreNamedOnAllRanks) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::int64_t twice : {std::int64_t{17}, std::int64_t{-1}, lowest, highest, std::int64_t{1} << 40}) {
    std::vector<std::int64_t> ids;
    for (std::int64_t n = 0; n < 100; ++n) ids.push_back(1000 + 100 * comm.rank() + n);
    if (comm.rank() == 0) ids.insert(ids.begin() + 3, twice);
    if (comm.rank() == comm.size() - 1) ids.push_back(twice);
    try {
      require_distinct(comm, ids);
      ADD_FAILURE() << twice;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.message(), "two particles have the id " + std::to_string(twice));
    }
  }
}

}  // namespace
}  // namespace sidestream::analysis
