#include "sidestream/core/input_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "sidestream/core/error.hpp"

namespace sidestream::core {
namespace {

class InputFiles : public testing::Test {
 protected:
  InputFiles() {
    std::string name = (std::filesystem::temp_directory_path() / "sidestream_input_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~InputFiles() override { std::filesystem::remove_all(folder_); }

  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  std::string pipe() const {
    const std::string path = (folder_ / "pipe").string();
    mkfifo(path.c_str(), 0600);
    return path;
  }

  std::filesystem::path folder_;
};

const InputFile table{.noun = "the table", .hint = "see the key `table`", .most_bytes = 200000};

std::string refusal_of(const std::string& path) {
  try {
    read_input_file(path, table);
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), path);
    EXPECT_EQ(error.hint(), "see the key `table`");
    return error.message();
  }
  return "";
}

TEST_F(InputFiles, AreReadToTheLastByte) {
  for (const std::size_t size : {0, 1, 65535, 65536, 65537, 200000}) {
    std::string text(size, 'x');
    if (size > 0) text.back() = '\0';

    EXPECT_EQ(read_input_file(written("text", text), table), text);
  }
}

TEST_F(InputFiles, AreReadThroughLinks) {
  std::filesystem::create_symlink(written("text", "words"), folder_ / "link");

  EXPECT_EQ(read_input_file((folder_ / "link").string(), table), "words");
}

TEST_F(InputFiles, AreRefusedAtOnceWhereTheyAreNoRegularFiles) {
  EXPECT_EQ(refusal_of(folder_.string()), "the table is a folder and no regular file");
  EXPECT_EQ(refusal_of(pipe()), "the table is a named pipe and no regular file");
  EXPECT_EQ(refusal_of("/dev/zero"), "the table is a device and no regular file");
  EXPECT_THROW(check_input_file(pipe(), table), Error);
}

TEST_F(InputFiles, AreRefusedWithTheReasonOfTheSystem) {
  std::filesystem::create_symlink(folder_ / "loop", folder_ / "loop");

  EXPECT_EQ(refusal_of((folder_ / "absent").string()), "the table cannot be opened: No such file or directory");
  EXPECT_EQ(refusal_of((folder_ / "loop").string()), "the table cannot be opened: Too many levels of symbolic links");
  EXPECT_EQ(refusal_of(folder_.string() + "/" + std::string(4000, 'n')),
            "the table cannot be opened: File name too long");
}

TEST_F(InputFiles, AreRefusedBeyondASize) {
  EXPECT_EQ(refusal_of(written("text", std::string(200001, 'x'))),
            "the table is too large: at most 200000 bytes of it are read");
  EXPECT_NO_THROW(check_input_file((folder_ / "text").string(), table));
}

TEST_F(InputFiles, KindsHaveNames) {
  EXPECT_EQ(kind_of_no_file(written("text", "")), "");
  EXPECT_EQ(kind_of_no_file((folder_ / "absent").string()), "");
  EXPECT_EQ(kind_of_no_file(folder_.string()), "a folder");
  EXPECT_EQ(kind_of_no_file("/dev/null"), "a device");
}

}  // namespace
}  // namespace sidestream::core
