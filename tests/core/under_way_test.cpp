#include "sidestream/core/under_way.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace sidestream::core {
namespace {

// A pipe of packets gives one write at a time.
TEST(UnderWay, TellsOfACrashInOneWriteSoThatRanksDoNotInterruptEachOther) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_DIRECT), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    tell_of_sudden_ends();
    const UnderWay here({"the task `halos`", "  --> step 3\n"});
    std::abort();
  }
  ::close(ends[1]);
  std::array<char, 4096> packet{};
  const ssize_t size = ::read(ends[0], packet.data(), packet.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);

  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(packet.data(), static_cast<std::size_t>(size)),
            "error: the task `halos` ended its process by signal 6 (SIGABRT)\n  --> step 3\n");
}

}  // namespace
}  // namespace sidestream::core
