#include "fft/threads/team.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace sidestream::fft {
namespace {

TEST(Team, WorksOnAThreadOfItsOwnForEachMember) {
  Team team(3);
  for (int repeat = 0; repeat < 50; ++repeat) {
    std::vector<std::thread::id> ids(3);
    std::atomic<int> met{0};
    team.run([&](int thread) {
      ids[static_cast<std::size_t>(thread)] = std::this_thread::get_id();
      for (++met; met < 3;) std::this_thread::yield();  // returns only if all are at it at once
    });
    EXPECT_EQ(ids[0], std::this_thread::get_id());
    EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 3u);
  }
}

TEST(Team, SharesEachPieceOutOnce) {
  for (const int size : {1, 2, 5}) {
    Team team(size);
    for (const int count : {0, 1, 7, 100}) {
      std::vector<std::atomic<int>> times(static_cast<std::size_t>(count));
      team.share(count, [&](int thread, int n) {
        EXPECT_LT(thread, size);
        ++times[static_cast<std::size_t>(n)];
      });
      for (const auto& one : times) EXPECT_EQ(one, 1);
    }
  }
}

TEST(Team, RethrowsWhatAMemberThrewAndGoesOn) {
  Team team(2);
  for (const int thrower : {0, 1})
    EXPECT_THROW(team.run([&](int thread) {
      if (thread == thrower) throw std::runtime_error("no");
    }),
                 std::runtime_error);
  std::atomic<int> calls{0};
  team.run([&](int) { ++calls; });

  EXPECT_EQ(calls, 2);
}

}  // namespace
}  // namespace sidestream::fft
