// FLASH files of all kinds: what is written comes back.
#include "flash_fixture.hpp"

namespace sidestream {
namespace {

double exactly(double value) {
  return value;
}

TEST_P(FlashTest, ACheckpointComesBackBitForBitOnAnotherLayout) {
  const auto file = io::open_snapshot_file(write(sample_.content(true)));

  ASSERT_EQ(file->description().levels.size(), 3U);
  for (int level = 0; level < 3; ++level) {
    EXPECT_TRUE(std::ranges::equal(file->description().levels[static_cast<std::size_t>(level)].boxes(),
                                   sample_.layouts()[static_cast<std::size_t>(level)].boxes()));
    for (std::size_t field = 0; field < test::SampleContent::names.size(); ++field)
      EXPECT_EQ(cells_that_differ(*file, level, field, exactly), 0);
  }
  EXPECT_NO_THROW(file->verify(comm_.rank(), comm_.size()));
}

TEST_P(FlashTest, ACheckpointKeepsEverythingThatARestartNeeds) {
  const io::FileContent content = sample_.content(true);
  const auto file = io::open_snapshot_file(write(content));

  const io::FileDescription& description = file->description();
  EXPECT_EQ(description.format, GetParam());
  EXPECT_TRUE(description.is_checkpoint);
  EXPECT_EQ(description.step, content.step);
  EXPECT_EQ(description.attributes, content.attributes);
  EXPECT_EQ(description.texts, content.texts);
  EXPECT_EQ(description.config, content.config);
  EXPECT_EQ(description.geometry.length, content.geometry.length);
  EXPECT_EQ(description.geometry.domain, content.geometry.domain);
  EXPECT_EQ(description.length_unit, "Mpc");
  EXPECT_EQ(description.time, content.time);
  ASSERT_EQ(description.fields.size(), content.fields.size());
  for (std::size_t f = 0; f < content.fields.size(); ++f) {
    EXPECT_EQ(description.fields[f].first, content.fields[f].name);
    EXPECT_EQ(description.fields[f].second, content.fields[f].unit);
  }
  EXPECT_EQ(description.ratios[0], (mesh::Int3{1, 1, 1}));
  EXPECT_EQ(description.ratios[2], (mesh::Int3{2, 2, 2}));
}

struct Particle {
  std::array<double, 3> position;
  double mass, xvel;
  friend bool operator==(const Particle&, const Particle&) = default;
};

TEST_P(FlashTest, ParticlesComeBackWithAllBitsOfTheirIds) {
  const auto file = io::open_snapshot_file(write(sample_.content(true)));

  const mesh::Particles read = file->read_particles(comm_.rank(), comm_.size());

  std::map<std::int64_t, Particle> expected, found;
  const test::SampleContent all(0, 1);
  for (int level = 0; level < 3; ++level) {
    const mesh::Particles& p = all.particles(level);
    for (std::size_t i = 0; i < p.size(); ++i)
      expected[p.id[i]] = {{p.position[0][i], p.position[1][i], p.position[2][i]},
                           test::SampleContent::mass_of(p.id[i]),
                           p.attributes[0].values[i]};
  }
  for (std::size_t i = 0; i < read.size(); ++i)
    found[read.id[i]] = {{read.position[0][i], read.position[1][i], read.position[2][i]},
                         read.attribute("mass")[i],
                         read.attribute("xvel")[i]};
  EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(found.size())), static_cast<std::int64_t>(expected.size()));
  EXPECT_EQ(file->description().particles, static_cast<std::int64_t>(expected.size()));
  for (const auto& [id, particle] : found) EXPECT_EQ(particle, expected.at(id));
}

TEST_P(FlashTest, EveryMethodWritesTheSameBytes) {
  const std::string first = test::content_of(write(sample_.content(true), format().methods.front()));
  comm_.barrier();

  for (const std::string& method : format().methods) {
    const std::string at = write(sample_.content(true), method);
    EXPECT_TRUE(test::content_of(at) == first) << method;
    comm_.barrier();
  }
}

TEST_P(FlashTest, PlotFilesHoldSinglePrecisionInUnitsOfFlash) {
  io::FileContent content = sample_.content(false);
  const auto file = io::open_snapshot_file(write(content));

  const io::FileDescription& description = file->description();
  EXPECT_FALSE(description.is_checkpoint);
  EXPECT_EQ(description.length_unit, "cm");
  EXPECT_DOUBLE_EQ(description.geometry.length[0], 16.0 * 3.085677580962325e24);
  EXPECT_EQ(description.fields[0], (std::pair<std::string, std::string>{"density", "g/cm^3"}));
  EXPECT_EQ(description.fields[5].second, "g/cm^3 (cm/s)^2");
  const double density_unit = 1.98841586e33 / std::pow(3.085677580962325e24, 3);
  const auto in_file = [&](double value) { return static_cast<double>(static_cast<float>(density_unit * value)); };
  for (int level = 0; level < 3; ++level) EXPECT_EQ(cells_that_differ(*file, level, 0, in_file), 0);
  const auto velocity = [](double value) { return static_cast<double>(static_cast<float>(1e5 / 0.5 * value)); };
  EXPECT_EQ(cells_that_differ(*file, 1, 2, velocity), 0);
}

TEST_P(FlashTest, UniformMeshesWithoutParticlesComeBack) {
  const test::SampleContent uniform(comm_.rank(), comm_.size(), 1);
  io::FileContent content = uniform.content(true);
  content.particles.clear();
  content.particle_reals.clear();

  const auto file = io::open_snapshot_file(write(content));

  ASSERT_EQ(file->description().levels.size(), 1U);
  EXPECT_FALSE(file->description().has_particles);
  EXPECT_EQ(cells_that_differ(*file, 0, 4, exactly), 0);
  EXPECT_EQ(file->read_particles().size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Flash, FlashTest,
                         testing::Values("sidestream", "flash", "flash-5d", "flash-netcdf", "flash-netcdf-5d"),
                         test_name);

}  // namespace
}  // namespace sidestream
