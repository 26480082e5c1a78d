#include "sidestream/io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "file_size_limit.hpp"
#include "sidestream/core/error.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

const comm::Communicator& self() {
  static const comm::Communicator comm(MPI_COMM_SELF);
  return comm;
}

TEST(AtomicFile, AppearsWithAllItsText) {
  const test::TemporaryFolder folder(self());

  io::write_file_atomically(folder / "a.txt", "one");
  io::write_file_atomically(folder / "a.txt", "two");

  EXPECT_EQ(test::content_of(folder / "a.txt"), "two");
  EXPECT_EQ(test::entries_of(folder.path()), 1);
}

TEST(AtomicFile, ADiskThatFillsUpLeavesTheEarlierFileAndNothingElse) {
  const test::TemporaryFolder folder(self());
  io::write_file_atomically(folder / "a.txt", "earlier");

  {
    const test::FileSizeLimit limit(100);
    EXPECT_THROW(io::write_file_atomically(folder / "a.txt", std::string(1000, 'x')), core::Error);
  }

  EXPECT_EQ(test::content_of(folder / "a.txt"), "earlier");
  EXPECT_EQ(test::entries_of(folder.path()), 1);
}

// As somebody else may have put it into a folder that all write to.
TEST(AtomicFile, ALinkUnderTheNameOfTheFileUnderConstructionIsNotFollowed) {
  const test::TemporaryFolder folder(self());
  io::write_file_atomically(folder / "mine", "dear to me");
  std::filesystem::create_symlink(folder / "mine", io::temporary_name(folder / "a.txt"));

  io::write_file_atomically(folder / "a.txt", "text");

  EXPECT_EQ(test::content_of(folder / "mine"), "dear to me");
  EXPECT_EQ(test::content_of(folder / "a.txt"), "text");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "a.txt"));
}

TEST(AtomicFile, APipeUnderThatNameIsRefusedAtOnce) {
  const test::TemporaryFolder folder(self());
  ASSERT_EQ(::mkfifo(io::temporary_name(folder / "a.txt").c_str(), 0666), 0);

  EXPECT_THROW(io::write_file_atomically(folder / "a.txt", "text"), core::Error);
}

TEST(AtomicFile, IsMadeWithTheMaskOfTheUser) {
  const test::TemporaryFolder folder(self());
  for (const mode_t mask : {mode_t{022}, mode_t{077}, mode_t{002}}) {
    const mode_t before = ::umask(mask);
    io::write_file_atomically(folder / "a.txt", "text");
    ::umask(before);

    struct stat status {};
    ASSERT_EQ(::stat((folder / "a.txt").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
  }
}

TEST(AtomicFile, WhatIsNoFileIsReadByNobody) {
  const test::TemporaryFolder folder(self());
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0666), 0);

  for (const std::string& path : {folder / "pipe", folder.path(), std::string("/dev/zero")}) {
    EXPECT_THROW(io::InputFile{path}, core::Error) << path;
    EXPECT_THROW(io::read_text(path), core::Error) << path;
  }
}

TEST(AtomicFile, AMissingFolderIsNamed) {
  try {
    io::write_file_atomically("/nowhere/at/all/a.txt", "text");
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_NE(error.where().find("/nowhere/at/all"), std::string::npos);
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(AtomicFile, ReadingBehindTheEndTakesNoMemoryAndSaysWhere) {
  const test::TemporaryFolder folder(self());
  io::write_file_atomically(folder / "a", "12345678");
  const io::InputFile file(folder / "a");

  EXPECT_THROW(file.bytes(4, std::int64_t{1} << 60), core::Error);
  EXPECT_THROW(file.bytes(-1, 2), core::Error);
  EXPECT_THROW(file.bytes(9, 0), core::Error);
  EXPECT_EQ(file.bytes(4, 4).size(), 4U);
}

TEST(AtomicFile, AFolderReplacesOneOfTheSameNameInOneStep) {
  const test::TemporaryFolder folder(self());
  io::make_folder(folder / "old");
  io::write_file_atomically(folder / "old/was", "here");
  io::make_folder(folder / "new");
  io::write_file_atomically(folder / "new/is", "there");

  io::move_folder_into_place(folder / "new", folder / "old");

  EXPECT_EQ(test::content_of(folder / "old/is"), "there");
  EXPECT_EQ(test::entries_of(folder / "old"), 1);
  EXPECT_EQ(test::entries_of(folder.path()), 1);
}

TEST(LastingFolders, AreMadeBehindLinksAsTheSystemTakesThem) {
  const test::TemporaryFolder folder(self());
  io::make_folder(folder / "a/b");
  std::filesystem::create_directory_symlink(folder / "a/b", folder / "link");

  io::make_lasting_folder(folder / "link/../runs/x");

  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/runs/x"));
}

}  // namespace
}  // namespace sidestream
