#include "sidestream/comm/shared_memory.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iterator>

namespace sidestream::comm {
namespace {

constexpr std::size_t size_bytes = 100000;

SharedMemory filled_with(std::byte value) {
  SharedMemory memory = std::move(*SharedMemory::make(size_bytes));
  EXPECT_TRUE(memory.reserve(size_bytes));
  std::ranges::fill(memory.bytes(), value);
  return memory;
}

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST(SharedMemory, EveryRankOfTheNodeReadsItWhereItLies) {
  const Communicator world(MPI_COMM_WORLD);
  const SharedMemory own = filled_with(static_cast<std::byte>(world.rank() + 1));
  SharedMemory::Address address;
  for (int r = 0; r < world.size(); ++r) address = own.lend();
  EXPECT_TRUE(own.is_lent());

  const std::vector<SharedMemory::Address> addresses = world.all_gather(address);
  for (int r = 0; r < world.size(); ++r) {
    const auto borrowed = SharedMemory::borrow(addresses[static_cast<std::size_t>(r)]);
    ASSERT_TRUE(borrowed);
    ASSERT_EQ(borrowed->bytes().size(), size_bytes);
    EXPECT_EQ(std::ranges::count(borrowed->bytes(), static_cast<std::byte>(r + 1)), size_bytes);
  }
  world.barrier();
  EXPECT_FALSE(own.is_lent());
}

TEST(SharedMemory, WhatIsWrittenLaterIsSeenByTheOneThatBorrowed) {
  const SharedMemory memory = filled_with(std::byte{1});
  const auto borrowed = SharedMemory::borrow(memory.lend());

  memory.bytes().back() = std::byte{2};

  EXPECT_EQ(borrowed->bytes().back(), std::byte{2});
}

TEST(SharedMemory, OnlyWhatIsLentIsFoundAndOnlyByItsOwnAddress) {
  const SharedMemory memory = filled_with(std::byte{1});
  const SharedMemory::Address address = memory.lend();
  const auto is_found = [](SharedMemory::Address where) { return SharedMemory::borrow(where).has_value(); };

  SharedMemory::Address other = address;
  other.key ^= 2;
  EXPECT_FALSE(is_found(other)) << "memory of another process of the same number";
  other = address;
  other.file = 0;
  EXPECT_FALSE(is_found(other)) << "some file";
  other = address;
  other.size_bytes += 1;
  EXPECT_FALSE(is_found(other));
  EXPECT_FALSE(is_found({}));
  EXPECT_TRUE(is_found(address));
  EXPECT_FALSE(is_found(address)) << "given back";
}

TEST(SharedMemory, OutlivesItsOwnerAndLeavesNothingBehind) {
  const std::ptrdiff_t files = open_files();
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    const SharedMemory memory = filled_with(std::byte{7});
    const SharedMemory::Address address = memory.lend();
    if (::write(pipe[1], &address, sizeof address) > 0) ::pause();
    ::_exit(1);
  }
  SharedMemory::Address address;
  ASSERT_EQ(::read(pipe[0], &address, sizeof address), sizeof address);
  {
    const auto borrowed = SharedMemory::borrow(address);
    ::kill(owner, SIGKILL);
    ::waitpid(owner, nullptr, 0);

    ASSERT_TRUE(borrowed);
    EXPECT_EQ(std::ranges::count(borrowed->bytes(), std::byte{7}), size_bytes);
  }
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_EQ(open_files(), files);
}

TEST(SharedMemory, MoreThanThereAreAddressesIsRefused) {
  EXPECT_FALSE(SharedMemory::make(std::size_t{1} << 62));
}

TEST(SharersOfMemory, AreTheRanksOfTheNode) {
  const Communicator world(MPI_COMM_WORLD);

  const std::vector<bool> sharers = sharers_of_memory(world);

  EXPECT_EQ(std::ranges::count(sharers, true), world.split_by_node().size());
  EXPECT_TRUE(sharers[static_cast<std::size_t>(world.rank())]);
}

}  // namespace
}  // namespace sidestream::comm
