// What is particular to our own folders in the format of Nyx.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "format_fixture.hpp"
#include "io/formats/nyx/nyx_file.hpp"
#include "io/formats/nyx/nyx_ids.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

using test::Deal;
using test::SampleState;
using testing::HasSubstr;
using testing::Not;

class NyxFormatTest : public test::FormatTest {
 protected:
  const io::Format& format() const override { return io::formats().named("nyx"); }
};

TEST_F(NyxFormatTest, TakesAtMostAsManyFilesAsAsked) {
  const SampleState state(comm_, 1);
  for (const int files : {1, 2, 100}) {
    io::WriteOptions options;
    options.files = files;
    const std::string path = write(state.checkpoint(), "chk00007", options);

    EXPECT_EQ(test::entries_of(path + "/Level_0"), std::min(files, comm_.size()) + 2);
    test::expect_sample_checkpoint(comm_, *format().open(path), 1);
    test::expect_sample_particles(comm_, *format().open(path), 1);
    comm_.barrier();
  }
}

TEST_F(NyxFormatTest, WritesFewLargePieces) {
  const mesh::Layout layout = mesh::split(mesh::domain_of({32, 32, 32 * comm_.size()}), {2, 2, 2 * comm_.size()});
  const mesh::Layout here = test::dealt(layout, comm_.size(), Deal::in_pieces);
  const mesh::Field<double> field(here, comm_.rank(), 4, 2);
  test::FileState all;
  all.state.geometry = {layout.domain(), {1.0, 1.0, 1.0}, {true, true, true}};
  test::set_levels(all.state, {here}, comm_.rank());
  for (int c = 0; c < 4; ++c) test::add(all, "f" + std::to_string(c), "", {field}, c);

  const io::AccessStatistics own = test::write(comm_, format(), folder_ / "plt00001", all);

  const int texts = comm_.rank() == 0 ? 7 : 0;
  EXPECT_EQ(own.writes, 1 + texts) << "8 boxes of 4 fields, 1 MiB, at once";
  EXPECT_GT(own.bytes_written, 1 << 20);
}

TEST_F(NyxFormatTest, NamesNyxAndNoCodeThatMakesOtherToolsUnsure) {
  std::string text = test::content_of(write(SampleState(comm_, 1).plotfile(), "plt00007") + "/job_info");
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });

  EXPECT_THAT(text, HasSubstr("nyx"));
  for (const char* other : {"amrex", "castro", "maestro", "warpx", "boxlib", "quokka"})
    EXPECT_THAT(text, Not(HasSubstr(other)));
}

TEST_F(NyxFormatTest, TellsReadersOfNyxWhatItIsToo) {
  const std::string path = write(SampleState(comm_, 2).plotfile(), "plt00007");
  if (comm_.rank() == 0) {
    std::filesystem::remove(path + "/sidestream.json");
    std::filesystem::remove(path + "/sidestream.commit");
  }
  comm_.barrier();

  const io::NyxFile file(path);

  const io::FileDescription& found = file.description();
  EXPECT_EQ(found.state.moment.step, 7);
  EXPECT_EQ(found.state.moment.time, 2.0 / 3.0);
  EXPECT_EQ(found.state.moment.scale_factor, 0.3);
  EXPECT_EQ(found.state.moment.attribute("hubble"), 0.68);
  EXPECT_EQ(found.state.moment.attribute("omega_m"), 0.31);
  EXPECT_EQ(found.state.geometry.length[0], SampleState::side);
  EXPECT_EQ(found.fields[1].name, "xmom");
  EXPECT_EQ(file.tables().levels[0].minima.at(0).at(0), std::sqrt(0.1));
  EXPECT_TRUE(file.tables().levels[0].checksums.empty());
  mesh::Field<double> density(test::dealt(SampleState::layouts(2)[1], comm_.size(), Deal::in_turn), comm_.rank());
  file.read_field("density", density, 1);
  EXPECT_EQ(test::cells_off_sample(density, 0, 1.0, true), 0);
}

TEST_F(NyxFormatTest, AParticleOnTheWrongRankIsRefusedByAll) {
  const SampleState state(comm_, 1);
  auto content = state.checkpoint();
  mesh::Particles wrong = *content.particles.stored[0];
  if (comm_.rank() == 0) wrong.position[0][0] = comm_.size() == 1 ? -100.0 : 0.75 * SampleState::side;
  content.particles.stored = {test::kept_elsewhere(wrong)};

  EXPECT_THROW(write(content, "chk00007"), core::Error);
  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

TEST_F(NyxFormatTest, AnIdThatDoesNotFitIsRefusedByAll) {
  const SampleState state(comm_, 1);
  auto content = state.checkpoint();
  mesh::Particles wrong = *content.particles.stored[0];
  if (comm_.rank() == 0) wrong.id[0] = -1;
  content.particles.stored = {test::kept_elsewhere(wrong)};

  EXPECT_THROW(write(content, "chk00007"), core::Error);
}

TEST_F(NyxFormatTest, ASealThatIsGoneIsFoundOut) {
  const std::string path = write(SampleState(comm_, 1).checkpoint(), "chk00007");
  for (const char* name : {"/sidestream.json", "/sidestream.commit"}) {
    const std::string good = test::content_of(path + name);
    comm_.barrier();
    if (comm_.rank() == 0) std::filesystem::remove(path + name);
    comm_.barrier();
    EXPECT_THROW(io::NyxFile{path}, core::Error) << name;
    comm_.barrier();
    if (comm_.rank() == 0) test::overwrite(path + name, good);
    comm_.barrier();
  }
}

TEST(NyxIds, KeepOur64Bits) {
  for (const std::int64_t id : {std::int64_t{0}, std::int64_t{1}, std::int64_t{0x7ffffffe}, std::int64_t{0x7fffffff},
                                std::int64_t{1} << 61, std::int64_t{1} << 62, io::largest_particle_id}) {
    EXPECT_EQ(io::particle_id(io::nyx_id(id)), id);
    EXPECT_GT(io::nyx_id(id).id, 0);
  }
}

}  // namespace
}  // namespace sidestream
