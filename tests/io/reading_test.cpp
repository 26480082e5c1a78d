// What reaches the disk when all ranks open a file and read what they own.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "format_fixture.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/known_bytes.hpp"
#include "sidestream/io/atomic_file.hpp"
#include "sidestream/io/format.hpp"
#include "sidestream/io/write_snapshot.hpp"

namespace sidestream {
namespace {

namespace fs = std::filesystem;
using test::Deal;
using test::SampleState;

class Reading : public test::FormatTest, public testing::WithParamInterface<std::string> {
 protected:
  void SetUp() override {
    if (!format().checkpoint) GTEST_SKIP() << "is built to be read only";
  }
  const io::Format& format() const override { return io::formats().named(GetParam()); }

  // Cells are much beside what is told of them.
  static constexpr std::int32_t cells = 32;
  mesh::Layout layout() const {
    return test::dealt(mesh::split(mesh::domain_of({cells, cells, cells}), {2, 2, 2}), comm_.size(), Deal::in_pieces);
  }
  // Where each rank has what another one had.
  static mesh::Layout turned(const mesh::Layout& layout, int ranks) {
    std::vector<std::int32_t> owners;
    for (std::int32_t i = 0; i < layout.size(); ++i) owners.push_back(ranks - 1 - layout.owner(i));
    return {layout.domain(), layout.periodic(), {layout.boxes().begin(), layout.boxes().end()}, owners, layout.level()};
  }
  std::string written(int files = 0) const { return written(layout(), files); }
  std::string written(const mesh::Layout& layout, int files = 0) const {
    mesh::Snapshot state;
    state.rank = comm_.rank();
    state.levels = {layout};
    state.geometry = {layout.domain(), {1.0, 1.0, 1.0}, {true, true, true}};
    state.state_numbers = {{"time_step", 1.0}};
    for (const char* name : {"gas_density", "potential", "gas_momentum_x"})
      state.add({.name = name, .unit = "1", .is_state = true}, [this, layout](int) {
        return mesh::AnyField(std::make_shared<const mesh::Field<double>>(layout, comm_.rank()));
      });
    io::FileChoice choice;
    choice.format = &format();
    choice.kind = io::FileKind::checkpoint;
    choice.quantities = mesh::names_of(state.quantities());
    choice.options.files = files;
    std::string path = folder_ / format().checkpoint->of(7);
    io::write_snapshot(comm_, state, choice, path);
    return path;
  }
  static std::int64_t size_of(const std::string& path) {
    if (!fs::is_directory(path)) return static_cast<std::int64_t>(fs::file_size(path));
    std::int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(path))
      if (entry.is_regular_file()) bytes += static_cast<std::int64_t>(entry.file_size());
    return bytes;
  }
};

TEST_P(Reading, OnlyTheFirstRankOpensAFileForWhatIsSmall) {
  const std::string path = write(SampleState(comm_, 1, Deal::in_pieces).checkpoint(), format().checkpoint->of(7));
  const io::AccessStatistics before = io::reads_so_far();

  const auto file = io::open_snapshot_file(comm_, path);

  const io::AccessStatistics own = io::reads_since(before);
  EXPECT_EQ(own.files > 0, comm_.rank() == 0);
  EXPECT_EQ(own.reads > 0, comm_.rank() == 0);
  test::expect_sample_checkpoint(comm_, *file, 1);
  test::expect_sample_particles(comm_, *file, 1);
}

TEST_P(Reading, ARankReadsItsShareOnceAndInFewOpens) {
  const std::string path = written();
  const auto file = io::open_snapshot_file(comm_, path);
  const io::AccessStatistics before = io::reads_so_far();

  for (const mesh::Quantity& field : file->description().fields) {
    mesh::Field<double> into(turned(layout(), comm_.size()), comm_.rank());
    file->read_field(field.name, into);
  }

  const io::AccessStatistics all = io::total(comm_, io::reads_since(before));
  // Rows of all variables are read twice, the first time for their checksum.
  const std::int64_t once = size_of(path), of_groups = GetParam().starts_with("enzo") ? comm_.size() << 16 : 0,
                     most = GetParam().ends_with("5d") ? 2 * once : once + once / 20 + of_groups;
  EXPECT_LE(all.bytes_read, most);
  EXPECT_LE(all.files, 3 * comm_.size() + 3);
}

// In formats that have the blocks of a variable one behind the other.
class ReadingAtOnce : public Reading {};

TEST_P(ReadingAtOnce, BlocksThatFollowEachOtherAreOneRead) {
  const mesh::Layout many =
      test::dealt(mesh::split(mesh::domain_of({cells, cells, cells}), {8, 8, 8}), comm_.size(), Deal::in_pieces);
  const auto file = io::open_snapshot_file(comm_, written(many));
  const io::AccessStatistics before = io::reads_so_far();

  for (const mesh::Quantity& field : file->description().fields) {
    mesh::Field<double> into(turned(many, comm_.size()), comm_.rank());
    file->read_field(field.name, into);
  }

  const std::int64_t of_field = io::reads_since(before).reads / std::ssize(file->description().fields);
  EXPECT_LE(of_field, 8) << "of " << many.boxes_of(comm_.rank()).size() << " blocks";
}

class ReadingParts : public Reading {};

TEST_P(ReadingParts, ARankOpensEachPartAFewTimesForAllItsBlocks) {
  const auto file = io::open_snapshot_file(comm_, written(comm_.size()));
  const io::AccessStatistics before = io::reads_so_far();

  for (const mesh::Quantity& field : file->description().fields) {
    mesh::Field<double> into(layout(), comm_.rank());
    file->read_field(field.name, into);
  }

  const int fields = static_cast<int>(file->description().fields.size());
  EXPECT_LE(io::reads_since(before).files, 3 * comm_.size() * fields);
}

const auto name_of = [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
};

INSTANTIATE_TEST_SUITE_P(Formats, ReadingParts, testing::Values("sidestream"));
INSTANTIATE_TEST_SUITE_P(Formats, ReadingAtOnce, testing::Values("sidestream", "flash", "flash-netcdf", "raw"),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Formats, Reading,
                         testing::Values("sidestream", "flash", "flash-5d", "flash-netcdf", "flash-netcdf-5d", "nyx",
                                         "enzo", "enzo-hdf5", "raw", "files"),
                         name_of);

TEST(KnownBytes, AreJoinedWhereTheyMeetAndToldToOthers) {
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  core::KnownBytes known;
  known.add("a", 20);
  known.add("a", 4, bytes("4567"));
  known.add("a", 0, bytes("0123"));
  known.add("a", 10, bytes("ab"));
  known.add("a", 6, bytes("67890"));

  const core::KnownBytes told = core::KnownBytes::unpacked(known.packed());

  std::string text(12, ' ');
  EXPECT_TRUE(told.copy("a", 0, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(text, "01234567890b");
  EXPECT_FALSE(told.copy("a", 1, std::as_writable_bytes(std::span(text))));
  EXPECT_FALSE(told.copy("b", 0, std::as_writable_bytes(std::span(text))));
  EXPECT_EQ(told.size_bytes("a"), 20);
}

TEST(KnownBytes, AnswerForAFileThatIsGoneUntilMoreIsWanted) {
  const comm::Communicator alone(MPI_COMM_SELF);
  const test::TemporaryFolder folder(alone);
  const std::string path = folder / "numbers";
  io::write_file_atomically(path, "0123456789");
  auto known = std::make_shared<core::KnownBytes>();
  {
    const core::KeepingReads keeping(*known);
    io::InputFile(path).bytes(2, 3);
  }
  fs::remove(path);
  const core::AnsweringReads answering(known);

  const io::InputFile file(path);

  EXPECT_EQ(file.size_bytes(), 10);
  EXPECT_EQ(static_cast<char>(file.bytes(3, 2)[1]), '4');
  EXPECT_THROW(file.bytes(3, 3), core::Error);
  io::write_file_atomically(path, "0123");
  for (int again = 0; again < 2; ++again) EXPECT_THROW(file.bytes(0, 1), core::Error) << "it is another one";
}

}  // namespace
}  // namespace sidestream
