// What killed processes leave in memory goes with the next file there, what living ones have stays.
#include "io/arrays/memory_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sidestream::io {
namespace {

TEST(MemoryFile, RemovesWhatNobodyHoldsAnyMore) {
  const MemoryFile held;
  const auto folder = std::filesystem::path(held.path()).parent_path();
  const std::string own = std::to_string(::getpid());
  const auto abandoned = folder / ("sidestream_memory_" + own), others = folder / ("sidestream_" + own);
  std::ofstream(abandoned) << "half of it";
  std::ofstream(others) << "something else";

  { const MemoryFile next; }

  EXPECT_FALSE(std::filesystem::exists(abandoned));
  EXPECT_TRUE(std::filesystem::exists(held.path()));
  EXPECT_TRUE(std::filesystem::remove(others));
}

}  // namespace
}  // namespace sidestream::io
