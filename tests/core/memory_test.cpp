#include "sidestream/core/memory.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sidestream::core {
namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

std::byte pattern(std::size_t place) {
  return static_cast<std::byte>(place * 2654435761u >> 13);
}

TEST(Memory, IsAlignedForVectorsAndForHugePages) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, MiB}) {
    const Bytes bytes = allocate_bytes(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % 64, 0u);
  }
  for (const std::size_t size : {2 * MiB, 3 * MiB + 5, 8 * MiB, 8 * MiB + 1, 33 * MiB}) {
    const Bytes bytes = allocate_bytes(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % (2 * MiB), 0u);
    bytes[0] = bytes[size - 1] = std::byte{7};
  }
}

TEST(Memory, IsClearedWhereverItCameFrom) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{100}, std::size_t{1} << 20, std::size_t{3} << 20, std::size_t{20} << 20})
    for (int turn = 0; turn < 3; ++turn) {
      const Bytes bytes = allocate_bytes(size);

      clear(bytes, size);

      EXPECT_EQ(std::count(bytes.get(), bytes.get() + size, std::byte{0}), static_cast<std::ptrdiff_t>(size));
      std::fill_n(bytes.get(), size, std::byte{7});
    }
}

TEST(Memory, KeepsWhatIsUsedWhenItGrows) {
  std::size_t size = 1000;
  Bytes bytes = allocate_bytes(size);
  for (std::size_t place = 0; place < size; ++place) bytes[place] = pattern(place);
  for (const std::size_t larger :
       {5000 * std::size_t{1}, MiB, 2 * MiB + 1, 5 * MiB + 5000, 9 * MiB, 9 * MiB + 1, 40 * MiB}) {
    grow(bytes, size, larger);
    for (std::size_t place = 0; place < size; ++place) ASSERT_EQ(bytes[place], pattern(place)) << larger;
    for (std::size_t place = size; place < larger; ++place) bytes[place] = pattern(place);
    size = larger;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.get()) % (size >= 2 * MiB ? 2 * MiB : 64), 0u);
  }
}

// The allocator counts the pieces that it has from the system one by one.
TEST(Memory, OfManyMegabytesIsTheSystemsAgainEvenAfterLargerPiecesWereFreed) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has an allocator of its own";
#endif
  return_large_memory();
  malloc_trim(0);                                        // nothing that others have freed is to be left in the heap
  [[maybe_unused]] const void* volatile seen = nullptr;  // or Clang leaves the vectors out
  {
    const std::vector<std::byte> freed(30 * MiB);
    seen = freed.data();
  }
  const auto before = mallinfo2().hblks;
  const std::vector<std::byte> kept(24 * MiB);
  seen = kept.data();
  EXPECT_EQ(mallinfo2().hblks, before + 1) << kept.size();
}

TEST(Workroom, GivesTheSameMemoryUntilMoreIsAskedFor) {
  Workroom room;
  const auto first = room.bytes(1000);
  std::ranges::fill(first, std::byte{5});
  const auto second = room.bytes(500);

  EXPECT_EQ(second.data(), first.data());
  EXPECT_EQ(second.size(), 500u);
  EXPECT_EQ(second[499], std::byte{5});
  EXPECT_EQ(room.bytes(100000).size(), 100000u);
}

}  // namespace
}  // namespace sidestream::core
