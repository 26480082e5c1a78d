// What is asked of the file that is read next, seen by what the system has of it in memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/read_ahead.hpp"

namespace sidestream {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t mib = std::int64_t{1} << 20;

class ReadAhead : public testing::Test {
 protected:
  // Not where temporary files lie, which may be in memory.
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_.data()), nullptr); }
  void TearDown() override { fs::remove_all(folder_); }

  // A file on the disk alone; empty where the file system has no such.
  std::string cold(const std::string& name, std::int64_t size_bytes) const {
    std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    io::OutputFile file(path, io::OutputFile::Open::create);
    file.write(std::vector<std::byte>(static_cast<std::size_t>(size_bytes), std::byte{'x'}));
    file.sync_and_close();
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    ::close(descriptor);
    return cached_share(path, 0, size_bytes) > 0.0 ? "" : path;
  }

  static double cached_share(const std::string& path, std::int64_t offset, std::int64_t bytes) {
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    const auto length = static_cast<std::size_t>(bytes), page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const begin = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor, offset);
    ::close(descriptor);
    std::vector<unsigned char> pages((length + page - 1) / page);
    ::mincore(begin, length, pages.data());
    ::munmap(begin, length);
    return static_cast<double>(std::ranges::count_if(pages, [](unsigned char of) { return (of & 1) != 0; })) /
           static_cast<double>(pages.size());
  }

  static bool is_there_soon(const std::string& path, std::int64_t offset, std::int64_t bytes) {
    using namespace std::chrono_literals;
    for (int trial = 0; trial < 1000 && cached_share(path, offset, bytes) < 1.0; ++trial)
      std::this_thread::sleep_for(10ms);
    return cached_share(path, offset, bytes) == 1.0;
  }

  std::string folder_ = "read_ahead_XXXXXX";
};

TEST_F(ReadAhead, BringsTheSamePlacesOfTheNextFile) {
  const std::string now = cold("a/cells", 8 * mib), next = cold("b/cells", 8 * mib), longer = cold("c/cells", 16 * mib);
  if (now.empty() || next.empty() || longer.empty()) GTEST_SKIP() << "the file system keeps all files in memory";

  {
    const io::ReadAhead ahead(folder_ + "/a", folder_ + "/b");
    io::InputFile(now).bytes(2 * mib, mib);
  }
  io::InputFile(now).bytes(5 * mib, mib);

  EXPECT_TRUE(is_there_soon(next, 2 * mib, mib));
  EXPECT_EQ(cached_share(next, 4 * mib, 4 * mib), 0.0);
  const io::ReadAhead ahead(folder_ + "/a", folder_ + "/c");
  io::InputFile(now).bytes(2 * mib, mib);
  EXPECT_TRUE(is_there_soon(longer, 4 * mib, 2 * mib)) << "in proportion";
  EXPECT_EQ(cached_share(longer, 8 * mib, 8 * mib), 0.0);
}

TEST_F(ReadAhead, AsksForNoMoreThanThereIsRoomFor) {
  const std::string now = cold("a", 4 * mib), next = cold("b", 4 * mib);
  if (now.empty() || next.empty()) GTEST_SKIP() << "the file system keeps all files in memory";
  const io::ReadAhead ahead(now, next, mib);

  for (const std::int64_t place : {0, 2}) io::InputFile(now).bytes(place * mib, mib);

  EXPECT_TRUE(is_there_soon(next, 0, mib));
  EXPECT_EQ(cached_share(next, 2 * mib, mib), 0.0);
}

TEST_F(ReadAhead, LeavesAloneWhatIsNotThereAndWhoReadsIt) {
  const std::string path = folder_ + "/a";
  io::write_file_atomically(path, "0123456789");
  const io::ReadAhead ahead(path, folder_ + "/none");

  EXPECT_EQ(static_cast<char>(io::InputFile(path).bytes(3, 1)[0]), '3');
}

}  // namespace
}  // namespace sidestream
