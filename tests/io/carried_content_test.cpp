// What is carried to others, who write it: the same file to the byte where they have the same blocks.
#include "sidestream/io/carried_content.hpp"

#include <algorithm>
#include <filesystem>

#include "io/format_fixture.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

using test::FileState;
using test::SampleState;

class CarriedContent : public testing::Test {
 protected:
  std::string bytes_of(const std::string& path) const {
    if (std::filesystem::is_regular_file(path)) return test::content_of(path);
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      if (entry.is_regular_file()) names.push_back(entry.path());
    std::ranges::sort(names);
    std::string all;
    for (const std::string& name : names) all += test::content_of(name);
    return all;
  }

  void expect_same_file(const io::Format& format, const FileState& file, const std::string& name) const {
    io::FileChoice choice = file.choice;
    choice.format = &format;
    const std::string written = (folder_ / "written") + "/" + name, carried = (folder_ / "carried") + "/" + name;
    if (comm_.rank() == 0)
      for (const std::string& path : {written, carried})
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    comm_.barrier();
    io::write_snapshot(comm_, file.snapshot(), choice, written);
    const mesh::Snapshot snapshot = file.snapshot();
    const io::CarriedContent content = io::carried_content(comm_, snapshot, choice);

    choice.texts.clear();
    io::write_carried(comm_, content, choice, carried);

    const std::string expected = bytes_of(written), found = bytes_of(carried);
    EXPECT_EQ(expected.size(), found.size()) << format.name << " " << name;
    const bool has_times = format.name.starts_with("enzo");  // HDF5 notes in which second it made a data set
    EXPECT_TRUE(has_times || expected == found) << format.name << " " << name;
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
};

TEST_F(CarriedContent, IsWrittenAsTheStateIsInEveryFormat) {
  for (const int levels : {1, 3}) {
    const SampleState sample(comm_, levels);
    for (const io::Format& format : io::formats()) {
      if (format.checkpoint) expect_same_file(format, sample.checkpoint(), format.checkpoint->of(7));
      if (format.plotfile) expect_same_file(format, sample.plotfile(), format.plotfile->of(levels));
    }
  }
}

TEST_F(CarriedContent, IsCompressedWithTheSameBounds) {
  const SampleState sample(comm_, 1);
  FileState file = sample.checkpoint();
  file.choice.kind = io::FileKind::plot_file;
  file.choice.compression = core::read_compression(
      *core::parse_toml("compress = { xmom = \"zfp 1e-3 relative\", \"*\" = \"zstd\" }", "run.toml").find("compress"));
  expect_same_file(io::formats().named("raw"), file, "plt00001.raw");
}

TEST_F(CarriedContent, ThatIsDamagedIsAnError) {
  const SampleState sample(comm_, 1);
  const FileState file = sample.checkpoint();
  const mesh::Snapshot snapshot = file.snapshot();
  io::FileChoice choice = file.choice;
  choice.format = &io::formats().named("raw");
  io::CarriedContent content = io::carried_content(comm_, snapshot, choice);
  content.rest.resize(content.rest.size() / 2);
  EXPECT_THROW(io::write_carried(comm_, content, choice, folder_ / "damaged"), core::Error);
}

}  // namespace
}  // namespace sidestream
