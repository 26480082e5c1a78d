// What killed ranks of Open MPI leave in memory is removed, and nothing else.
#include "comm/abandoned_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace sidestream::comm {
namespace {

namespace fs = std::filesystem;

class AbandonedMemory : public testing::Test {
 protected:
  AbandonedMemory() {
    std::string name = fs::temp_directory_path().string() + "/abandoned_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~AbandonedMemory() override { fs::remove_all(folder_); }

  static std::string name(const std::string& word, const std::string& end) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    return fmt::format("{}.{}.{}.{}", word, host.data(), ::geteuid(), end);
  }
  // A file that was last written an hour ago.
  std::string put(const std::string& name, int age_s = 3600) const {
    std::string path = (folder_ / name).string();
    std::ofstream(path) << std::string(4096, 'x');
    make_older(path, age_s);
    return path;
  }
  static void make_older(const std::string& path, int age_s) {
    const std::timespec then{std::time(nullptr) - age_s, 0};
    const std::array<std::timespec, 2> times{then, then};
    ::utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
  }

  fs::path folder_;
};

TEST_F(AbandonedMemory, OfKilledRanksIsRemoved) {
  put(name("vader_segment", "2dbd0001.0"));
  put(name("sm_segment", "2dbd0001.17"));

  EXPECT_EQ(remove_abandoned_memory(folder_.string()), 2U);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(AbandonedMemory, ThatIsMappedStays) {
  const std::string path = put(name("vader_segment", "2dbd0001.0"));
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);

  EXPECT_EQ(remove_abandoned_memory(folder_.string()), 0U);
  ::munmap(mapped, 4096);
  EXPECT_EQ(remove_abandoned_memory(folder_.string()), 1U);
}

TEST_F(AbandonedMemory, OfAnotherNameAgeMachineOrKindStays) {
  put(name("vader_segment", "2dbd0001.0"), 5);
  put(name("vader_segment", "2dbd0001"));
  put(name("vader_segment", "2dbd0001.x"));
  put(name("vader_segment", "2dbd0001.0") + ".keep");
  put(name("other", "2dbd0001.0"));
  put(fmt::format("vader_segment.elsewhere.{}.2dbd0001.0", ::geteuid()));
  put(fmt::format("vader_segment.{}.2dbd0001.0", ::geteuid()));
  fs::create_directory(folder_ / name("vader_segment", "1.1"));
  fs::create_symlink("/etc/passwd", folder_ / name("vader_segment", "1.2"));
  for (const char* end : {"1.1", "1.2"}) make_older((folder_ / name("vader_segment", end)).string(), 3600);

  EXPECT_EQ(remove_abandoned_memory(folder_.string()), 0U);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 9);
  EXPECT_EQ(remove_abandoned_memory((folder_ / "nowhere").string()), 0U);
}

}  // namespace
}  // namespace sidestream::comm
