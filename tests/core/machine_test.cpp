#include "sidestream/core/machine.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace sidestream::core {
namespace {

constexpr double gib = 0x1p30;

/// The /proc and /sys of a machine of 64 GiB that are free.
class LimitsOfAGroup : public testing::Test {
 protected:
  LimitsOfAGroup() {
    std::string name = (std::filesystem::temp_directory_path() / "sidestream_machine_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write("proc/meminfo", "MemTotal: 134217728 kB\nMemAvailable: 67108864 kB\n");
  }
  ~LimitsOfAGroup() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text << "\n";
  }
  void write(const std::string& name, double bytes) const {
    write(name, std::to_string(static_cast<std::int64_t>(bytes)));
  }
  double available() const { return available_memory_bytes(folder_.string()); }

  std::filesystem::path folder_;
};

TEST_F(LimitsOfAGroup, WithoutOneAllThatIsFreeIsAvailable) {
  write("sys/fs/cgroup/memory.max", "max");
  write("sys/fs/cgroup/memory.current", 1 * gib);

  EXPECT_EQ(available(), 64 * gib);
}

TEST_F(LimitsOfAGroup, WhereTheSystemSaysNothingThereIsNoLimit) {
  std::filesystem::remove(folder_ / "proc/meminfo");

  EXPECT_EQ(available(), std::numeric_limits<double>::infinity());
}

TEST_F(LimitsOfAGroup, OfThisProcessCountsAndWhatIsKeptOfFilesIsNotUsed) {
  write("proc/self/cgroup", "0::/batch/job_7");
  write("sys/fs/cgroup/batch/job_7/memory.max", 8 * gib);
  write("sys/fs/cgroup/batch/job_7/memory.current", 5 * gib);
  write("sys/fs/cgroup/batch/job_7/memory.stat",
        "anon 2147483648\ninactive_file 1073741824\nactive_file 536870912\nslab_reclaimable 536870912");

  EXPECT_EQ(available(), 5 * gib);
}

TEST_F(LimitsOfAGroup, OfTheFirstVersionOfTheInterfaceCountsToo) {
  write("proc/self/cgroup", "9:memory:/slurm/job_7\n4:cpu:/");
  write("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", 4 * gib);
  write("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", 3 * gib);
  write("sys/fs/cgroup/memory/slurm/job_7/memory.stat", "total_inactive_file 1073741824\ntotal_active_file 0");

  EXPECT_EQ(available(), 2 * gib);
}

TEST_F(LimitsOfAGroup, ThatIsBeyondLeavesNothing) {
  write("sys/fs/cgroup/memory.max", 1 * gib);
  write("sys/fs/cgroup/memory.current", 2 * gib);

  EXPECT_EQ(available(), 0.0);
}

}  // namespace
}  // namespace sidestream::core
