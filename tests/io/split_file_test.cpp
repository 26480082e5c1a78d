// Files in several parts behind a master: what one file holds, whole or not at all, with no part of another.
#include <filesystem>
#include <fstream>

#include "flash_fixture.hpp"
#include "format_fixture.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/disk/file_parts.hpp"
#include "support/fields.hpp"

namespace sidestream {
namespace {

namespace fs = std::filesystem;

class SplitFile : public FlashTest {
 protected:
  std::string write_parts(int files, const std::string& name, const std::string& method = "") const {
    io::WriteOptions options;
    options.method = method;
    options.files = files;
    options.is_durable = false;
    const std::string at = folder_ / name;
    test::write(comm_, format(), at, sample_.content(true), options);
    comm_.barrier();
    return at;
  }
  // Two parts, or a test without a subject.
  std::string two_parts(const std::string& name) const { return write_parts(2, name + format().checkpoint->of(7)); }

  void on_first_rank(auto work) const {
    if (comm_.rank() == 0) work();
    comm_.barrier();
  }
  static void damage(const std::string& path, std::int64_t from_end) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-from_end, std::ios::end);
    const int byte = file.get();
    file.seekp(-from_end, std::ios::end);
    file.put(static_cast<char>(byte ^ 1));
  }
  // What reading all of the file says.
  static std::string complaint(const std::string& path) {
    try {
      io::open_snapshot_file(path)->verify(0, 1);
      return "";
    } catch (const core::Error& error) {
      return error.what();
    }
  }
  std::vector<std::string> names_in_folder() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path())) names.push_back(entry.path().filename());
    return names;
  }
};

std::vector<double> all_numbers(const io::Hdf5Reader& file, const std::string& name) {
  return file.shape(name).empty() ? std::vector<double>() : file.doubles(name);
}

TEST_P(SplitFile, AnyNumberOfPartsHoldsWhatOneFileHolds) {
  const std::string one = write_parts(1, "one_" + format().checkpoint->of(7));
  EXPECT_TRUE(fs::is_regular_file(one));
  for (const int files : {2, 3, 9}) {
    const std::string at = write_parts(files, std::to_string(files) + "_" + format().checkpoint->of(7));

    const int parts = std::min(files, comm_.size());
    EXPECT_EQ(fs::is_directory(at), parts > 1);
    for (int p = 0; p < 10 && parts > 1; ++p) EXPECT_EQ(fs::exists(at + "/" + io::part_name(p)), p < parts);
    const io::Hdf5Reader expected(one), found(io::master_of(at));
    for (const char* name : {"bounding box", "refine level", "gid", "localnp", "checksum", "particle checksum",
                             "tracer particles", "particle ids"})
      EXPECT_EQ(all_numbers(found, name), all_numbers(expected, name)) << name;
    const auto file = io::open_snapshot_file(at);
    for (int level = 0; level < 3; ++level)
      for (std::size_t field = 0; field < test::SampleContent::names.size(); ++field)
        EXPECT_EQ(cells_that_differ(*file, level, field, [](double value) { return value; }), 0);
    EXPECT_NO_THROW(file->verify(comm_.rank(), comm_.size()));
    comm_.barrier();
  }
}

TEST_P(SplitFile, EveryMethodWritesTheSameParts) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank writes one file";
  const std::string expected = write_parts(2, "engine", "engine");
  for (const std::string& method : format().methods) {
    const std::string at = write_parts(2, method + "_", method);
    for (const std::string& name : {io::master_name, io::part_name(0), io::part_name(1)})
      EXPECT_TRUE(test::content_of(at + "/" + name) == test::content_of(expected + "/" + name)) << method << name;
    comm_.barrier();
  }
}

TEST_P(SplitFile, DamageIsToldWithTheNameOfThePart) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank writes one file";
  const std::string at = two_parts("a_"), part = at + "/" + io::part_name(1);
  EXPECT_EQ(complaint(at), "");
  comm_.barrier();

  on_first_rank([&] { damage(part, 100); });  // of the last array
  EXPECT_THAT(complaint(at), testing::HasSubstr(part));
  EXPECT_THAT(complaint(at), testing::HasSubstr("checksum"));
  comm_.barrier();
  on_first_rank([&] {
    damage(part, 100);
    damage(part, static_cast<std::int64_t>(fs::file_size(part)) - 700);  // of the tables
  });
  EXPECT_THAT(complaint(at), testing::HasSubstr(part));
  comm_.barrier();
  on_first_rank([&] { fs::resize_file(part, fs::file_size(part) - 1); });
  EXPECT_THAT(complaint(at), testing::HasSubstr("bytes instead of"));
  comm_.barrier();
  on_first_rank([&] { fs::remove(part); });
  EXPECT_THAT(complaint(at), testing::HasSubstr("a part of the file is missing"));
  EXPECT_THAT(complaint(at), testing::HasSubstr(part));
  comm_.barrier();
}

TEST_P(SplitFile, APartOfAnotherFileIsRefused) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank writes one file";
  const std::string at = two_parts("a_"), name = io::part_name(0);
  test::FileState other = sample_.content(true);
  std::swap(other.choice.quantities[0], other.choice.quantities[1]);
  io::WriteOptions options;
  options.files = 2;
  test::write(comm_, format(), folder_ / "other", other, options);
  comm_.barrier();

  on_first_rank(
      [&] { fs::copy_file(folder_ / "other/" + name, at + "/" + name, fs::copy_options::overwrite_existing); });

  EXPECT_THAT(complaint(at), testing::HasSubstr(at + "/" + name));
  comm_.barrier();
}

TEST_P(SplitFile, ALinkInPlaceOfAPartIsNotFollowed) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank writes one file";
  const std::string at = two_parts("a_"), part = at + "/" + io::part_name(1);
  on_first_rank([&] {
    fs::rename(part, folder_ / "elsewhere");
    fs::create_symlink(folder_ / "elsewhere", part);
  });

  EXPECT_THAT(complaint(at), testing::HasSubstr("no regular file"));
  comm_.barrier();
}

TEST_P(SplitFile, OneReplacesTheOtherUnderTheSameName) {
  const std::string name = format().checkpoint->of(7);
  for (const int files : {1, 2, 3, 1}) {
    const std::string at = write_parts(files, name);

    EXPECT_EQ(fs::is_directory(at), files > 1 && comm_.size() > 1);
    EXPECT_EQ(complaint(at), "");
    EXPECT_THAT(names_in_folder(), testing::ElementsAre(name)) << "nothing is left of the one before";
    comm_.barrier();
  }
}

TEST_P(SplitFile, TheFolderMayBeMoved) {
  if (comm_.size() == 1) GTEST_SKIP() << "one rank writes one file";
  const std::string at = two_parts("a_"), there = folder_ / "moved";
  on_first_rank([&] { fs::rename(at, there); });

  EXPECT_EQ(complaint(there), "");
  EXPECT_EQ(complaint(there + "/" + io::master_name), "");
  comm_.barrier();
}

INSTANTIATE_TEST_SUITE_P(Formats, SplitFile, testing::Values("sidestream", "flash", "flash-5d"), test_name);

TEST(SplitFiles, OtherFormatsAreRefusedBeforeAnythingIsWritten) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const test::TemporaryFolder folder(comm);
  const test::SampleContent sample(comm.rank(), comm.size());
  io::WriteOptions options;
  options.files = 2;

  for (const char* name : {"raw", "flash-netcdf"})
    EXPECT_THAT([&] { test::write(comm, io::formats().named(name), folder / "file", sample.content(true), options); },
                testing::ThrowsMessage<core::Error>(testing::HasSubstr("`files` has no effect in the format")));
  EXPECT_TRUE(fs::is_empty(folder.path()));
  comm.barrier();
}

}  // namespace
}  // namespace sidestream
