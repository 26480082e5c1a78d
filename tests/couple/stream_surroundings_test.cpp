// What a stream takes of the machine: files of the process, and a folder for sockets.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "couple/stream/run/socket_folder.hpp"
#include "sidestream/stream/socket.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;
namespace fs = std::filesystem;

TEST(StreamFiles, AreAsManyAsTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit fewer{std::min<rlim_t>(before.rlim_cur, 128), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &fewer), 0);
  const stream::Server server("tcp://127.0.0.1:*", {}, {});
  rlimit after{};
  ::getrlimit(RLIMIT_NOFILE, &after);
  EXPECT_EQ(after.rlim_cur, std::min<rlim_t>(before.rlim_max, 65536));
  ::setrlimit(RLIMIT_NOFILE, &before);
}

// A folder of temporary files of this process alone.
class SocketFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* const before = std::getenv("TMPDIR")) before_ = before;
    std::string made = (fs::temp_directory_path() / "folders-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    temporary_ = made;
    ::setenv("TMPDIR", made.c_str(), 1);
  }
  void TearDown() override {
    before_.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", before_.c_str(), 1);
    fs::remove_all(temporary_);
  }
  std::ptrdiff_t folders() const { return std::distance(fs::directory_iterator(temporary_), {}); }
  // As a process leaves it, whose number nobody has here, as where it is in another container.
  fs::path folder_of_another() const {
    const fs::path folder = temporary_ / "sidestream-stream-999999999-abcdef";
    fs::create_directory(folder);
    std::ofstream(folder / "lock") << "";
    std::ofstream(folder / "run") << "a socket";
    return folder;
  }

  fs::path temporary_;
  std::string before_;
};

TEST_F(SocketFolders, OfWhoeverLivesAreLeftAlone) {
  const fs::path other = folder_of_another();
  const int lock = ::open((other / "lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  {
    const SocketFolder first = SocketFolder::make(), second = SocketFolder::make();
    EXPECT_TRUE(fs::exists(first.path()));
    EXPECT_EQ(folders(), 3);
  }
  EXPECT_TRUE(fs::exists(other / "run"));
  EXPECT_EQ(folders(), 1);
  ::close(lock);
}

TEST_F(SocketFolders, OfTheDeadAreRemoved) {
  const fs::path other = folder_of_another();
  const SocketFolder mine = SocketFolder::make();
  EXPECT_FALSE(fs::exists(other));
}

}  // namespace
