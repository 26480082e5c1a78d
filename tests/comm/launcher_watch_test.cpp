#include "sidestream/comm/launcher_watch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

namespace sidestream::comm {
namespace {

constexpr char ready = 'r', late = 'l';

// A process that answers another: says that it is there, and much later that it is still.
[[noreturn]] void answer(int to) {
  setenv("SIDESTREAM_ANSWERS", "1", 1);
  end_with_the_launcher();
  bool is_told = write(to, &ready, 1) == 1;
  sleep(20);
  is_told = write(to, &late, 1) == 1 && is_told;
  _exit(is_told ? 0 : 1);
}

TEST(LauncherWatch, AProcessThatAnswersAnotherEndsWithIt) {
  std::array<int, 2> pipes{};
  ASSERT_EQ(pipe(pipes.data()), 0);
  const pid_t asker = fork();
  if (asker == 0) {
    close(pipes[0]);
    if (fork() == 0) answer(pipes[1]);
    close(pipes[1]);
    sleep(1);
    _exit(0);
  }
  close(pipes[1]);
  waitpid(asker, nullptr, 0);
  const auto before = std::chrono::steady_clock::now();

  std::string heard;
  for (char letter = 0; read(pipes[0], &letter, 1) == 1;) heard += letter;

  close(pipes[0]);
  EXPECT_EQ(heard, std::string(1, ready));
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(15));
}

}  // namespace
}  // namespace sidestream::comm
