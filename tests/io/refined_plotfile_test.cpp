// Plot files of refined meshes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "sidestream/core/error.hpp"
#include "sidestream/io/nyx_plotfile.hpp"
#include "support/fields.hpp"
#include "support/levels.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

constexpr std::int32_t cells = 8, block = 4;

bool is_refined(int level, mesh::Int3 p) {
  return (level == 0 && (p == mesh::Int3{0, 0, 0} || p == mesh::Int3{1, 0, 0})) ||
         (level == 1 && p == mesh::Int3{1, 1, 0});
}

// Three levels of 8, 16 and 8 blocks.
std::vector<mesh::Layout> layouts(int ranks) {
  return test::refined_levels(cells, block, ranks, test::Blocks::all, is_refined);
}

// At a position in cells of the coarsest level; trilinear, so that averages of fine cells are the coarse values.
double density_at(double x, double y, double z) {
  return 1.0 + 0.5 * x + 0.25 * y * z;
}

// Dealt as contiguous pieces, so that one data file is the same for any number of ranks.
mesh::Layout in_pieces(const mesh::Layout& layout, int ranks) {
  std::vector<std::int32_t> owners;
  for (std::int32_t i = 0; i < layout.size(); ++i)
    owners.push_back(static_cast<std::int32_t>(std::int64_t{i} * ranks / layout.size()));
  return {layout.domain(),
          layout.periodic(),
          {layout.boxes().begin(), layout.boxes().end()},
          std::move(owners),
          layout.level()};
}

class RefinedPlotfileTest : public testing::Test {
 protected:
  RefinedPlotfileTest() {
    for (const mesh::Layout& layout : layouts(comm_.size())) {
      const int level = layout.level();
      fields_.push_back(field_on(in_pieces(layout, comm_.size()), comm_.rank()));
      particles_.push_back(particles_on(level));
    }
  }

  static mesh::Field<double> field_on(const mesh::Layout& layout, int rank) {
    mesh::Field<double> field(layout, rank, 2, 1);
    const double size = 1.0 / (1 << layout.level());
    for (int b = 0; b < field.blocks(); ++b)
      core::for_each_cell(field.box(b), [&](int k, int j, int i) {
        field.view(b)(0, k, j, i) = density_at((i + 0.5) * size, (j + 0.5) * size, (k + 0.5) * size);
        field.view(b)(1, k, j, i) = level_value(layout.level());
      });
    return field;
  }
  static double level_value(int level) { return 100.0 * (1 + level); }

  // One particle in the middle of each leaf block of the level.
  mesh::Particles particles_on(int level) const {
    mesh::Particles particles;
    particles.attributes = {{"vx", "km/s", {}}};
    const mesh::Field<double>& field = fields_.back();
    for (int b = 0; b < field.blocks(); ++b) {
      const mesh::Int3 lo = field.box(b).lo;
      if (is_refined(level, {lo.x / block, lo.y / block, lo.z / block})) continue;
      particles.id.push_back(1'000'000 * level + linear_index(field.layout().domain(), lo));
      for (std::size_t axis = 0; axis < 3; ++axis)
        particles.position[axis].push_back((lo[static_cast<int>(axis)] + 2.25) / (1 << level));
      particles.attributes[0].values.push_back(level + 0.5);
    }
    return particles;
  }

  io::PlotfileContent content() const {
    io::PlotfileContent all;
    all.step = 7;
    all.time = 0.5;
    all.scale_factor = 0.5;
    all.omega_m = 0.3;
    all.omega_lambda = 0.7;
    all.hubble = 0.68;
    all.geometry = {mesh::domain_of({cells, cells, cells}), {8.0, 8.0, 8.0}, {true, true, true}};
    all.fields = {{"density", {}, 0, 2.0}, {"Temp", {}, 1, 1.0}};
    all.particle_reals = {{"mass", {}, 3.0}, {"xvel", {}, 2.0}};
    for (auto& field : all.fields)
      for (const auto& level : fields_) field.levels.push_back(&level);
    for (const auto& level : particles_) {
      all.particles.push_back(&level);
      all.particle_reals[1].levels.push_back(&level.attributes[0].values);
    }
    all.files = 1;
    return all;
  }
  std::string write(const io::PlotfileContent& all) const {
    io::write_nyx_plotfile(comm_, folder_ / "plt00007", all);
    comm_.barrier();
    return folder_ / "plt00007";
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::vector<mesh::Field<double>> fields_;
  std::vector<mesh::Particles> particles_;
};

mesh::Layout whole(int level) {
  const std::int32_t n = cells << level;
  return mesh::split(mesh::domain_of({n, n, n}), {1, 1, 1});
}

TEST_F(RefinedPlotfileTest, EveryLevelComesBackBitForBitOnAnotherLayout) {
  const io::NyxPlotfile file(write(content()));
  ASSERT_EQ(file.levels().size(), 3U);

  for (int level = 0; level < 3; ++level) {
    const mesh::Layout& all = file.levels()[static_cast<std::size_t>(level)].layout;
    EXPECT_TRUE(std::ranges::equal(all.boxes(), layouts(1)[static_cast<std::size_t>(level)].boxes()));
    const mesh::Layout dealt = layouts(comm_.size())[static_cast<std::size_t>(level)];
    const auto read = file.read_field("density", dealt, comm_.rank(), level);
    const auto expected = field_on(dealt, comm_.rank());
    for (int b = 0; b < read.blocks(); ++b)
      core::for_each_cell(read.box(b), [&](int k, int j, int i) {
        EXPECT_EQ(read.view(b)(k, j, i), 2.0 * expected.view(b)(0, k, j, i));
      });
  }
}

// The file that tests/python reads with yt. Run on one rank with SIDESTREAM_UPDATE_SNAPSHOTS=1 to write it anew.
TEST_F(RefinedPlotfileTest, TheBytesAreThoseOfTheKeptFileForAnyNumberOfRanks) {
  namespace fs = std::filesystem;
  const std::string written = write(content()), kept = SIDESTREAM_TEST_DATA "/refined_plt00007";
  if (std::getenv("SIDESTREAM_UPDATE_SNAPSHOTS") != nullptr && comm_.size() == 1)
    fs::copy(written, kept, fs::copy_options::recursive | fs::copy_options::overwrite_existing);

  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(written)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), written).string();
    EXPECT_TRUE(test::content_of(entry.path().string()) == test::content_of(kept + "/" + name)) << name;
    ++files;
  }
  EXPECT_EQ(files, 3 + 3 * 2 + 2 + 3 * 2) << "texts, levels, texts and levels of the particles";
}

TEST_F(RefinedPlotfileTest, ACoveringGridHasTheFinestValueOfEachCell) {
  const io::NyxPlotfile file(write(content()));
  const mesh::Layout parts = mesh::split(mesh::domain_of({32, 32, 32}), {3, 1, comm_.size()});

  const auto read = file.read_covering("Temp", parts, comm_.rank(), 2);

  for (int b = 0; b < read.blocks(); ++b)
    core::for_each_cell(read.box(b), [&](int k, int j, int i) {
      int level = 0;
      while (is_refined(level, {i >> (4 - level), j >> (4 - level), k >> (4 - level)})) ++level;
      EXPECT_EQ(read.view(b)(k, j, i), level_value(level)) << i << " " << j << " " << k;
    });
}

TEST_F(RefinedPlotfileTest, ACoveringGridOfTheCoarsestLevelIsThatLevel) {
  const io::NyxPlotfile file(write(content()));

  const auto covering = file.read_covering("density", whole(0), 0, 0), level = file.read_field("density", whole(0), 0);

  EXPECT_TRUE(std::ranges::equal(covering.all(), level.all()));
}

TEST_F(RefinedPlotfileTest, ALevelThatDoesNotCoverWhatIsAskedForIsRefused) {
  const io::NyxPlotfile file(write(content()));

  EXPECT_THROW(file.read_field("density", whole(1), 0, 1), core::Error);
  EXPECT_THROW(file.read_covering("density", whole(1), 0, 2), core::Error);
  EXPECT_THROW(file.read_covering("density", whole(0), 0, 3), core::Error);
}

TEST_F(RefinedPlotfileTest, ParticlesOfAllLevelsComeBack) {
  const io::NyxPlotfile file(write(content()));
  EXPECT_EQ(file.particle_count(), 6 + 15 + 8);

  const mesh::Particles particles = file.read_particles();

  for (std::size_t p = 0; p < particles.size(); ++p) {
    EXPECT_EQ(particles.attribute("mass")[p], 3.0);
    EXPECT_EQ(particles.attribute("xvel")[p], 2.0 * (static_cast<double>(particles.id[p] / 1'000'000) + 0.5));
  }
}

TEST_F(RefinedPlotfileTest, WhatDoesNotFitTogetherIsRefusedByAll) {
  auto fewer_levels = content(), fewer_particles = content(), other_domain = content();
  fewer_levels.fields[1].levels.pop_back();
  fewer_particles.particles.pop_back();
  std::swap(other_domain.fields[0].levels[0], other_domain.fields[0].levels[1]);

  for (const auto& all : {fewer_levels, fewer_particles, other_domain}) EXPECT_THROW(write(all), core::Error);
  comm_.barrier();
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

// --- files that other codes write: boxes of any size and place, any ratio; made by hand from our own
// --------------------------------

// A file of this rank alone.
class ForeignPlotfileTest : public RefinedPlotfileTest {
 protected:
  ForeignPlotfileTest() {
    const comm::Communicator self(MPI_COMM_SELF);
    std::vector<mesh::Field<double>> fields;
    for (const mesh::Layout& layout : layouts(1)) fields.push_back(field_on(layout, 0));
    io::PlotfileContent all;
    all.geometry = {mesh::domain_of({cells, cells, cells}), {8.0, 8.0, 8.0}, {true, true, true}};
    all.fields = {{"density", {&fields[0], &fields[1], &fields[2]}, 0, 1.0}};
    path_ = folder_ / ("mine" + std::to_string(comm_.rank()));
    io::write_nyx_plotfile(self, path_, all);
  }
  void replace(const std::string& file, const std::string& from, const std::string& to) const {
    std::string text = test::content_of(path_ + file);
    const auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    test::overwrite(path_ + file, text.replace(place, from.size(), to));
  }
  // Reads everything; anything but a core::Error is a failure or the end of the test.
  void read() const {
    try {
      const io::NyxPlotfile file(path_);
      const auto& finest = file.levels().back().layout;
      file.read_covering("density", mesh::split(finest.domain(), {1, 1, 1}), 0,
                         static_cast<int>(file.levels().size()) - 1);
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty()) << error.what();
    }
  }

  std::string path_;
};

TEST_F(ForeignPlotfileTest, ARatioOfFourIsFoundFromTheDomains) {
  const std::string finer = "((0,0,0) (31,31,31) (0,0,0))";
  replace("/Header", "((0,0,0) (15,15,15) (0,0,0))", finer);
  const std::string domains = finer + " " + finer;
  replace("/Header", domains, finer + " ((0,0,0) (127,127,127) (0,0,0))");

  const io::NyxPlotfile file(path_);

  EXPECT_EQ(file.levels()[1].ratio, (mesh::Int3{4, 4, 4}));
  EXPECT_EQ(file.levels()[2].ratio, (mesh::Int3{4, 4, 4}));
}

TEST_F(ForeignPlotfileTest, BoxesNeedNotBeAlignedWithCoarserCells) {
  replace("/Level_1/Cell_H", "((4,4,0) (7,7,3)", "((5,4,0) (7,7,3)");
  replace("/Level_1/Cell_H", "((8,0,0) (11,3,3)", "((9,0,0) (11,3,3)");
  std::string data = test::content_of(path_ + "/Level_1/Cell_D_00000");
  for (const auto& [from, to] :
       {std::pair("((4,4,0) (7,7,3)", "((5,4,0) (7,7,3)"), std::pair("((8,0,0) (11,3,3)", "((9,0,0) (11,3,3)")})
    data.replace(data.find(from), std::string(from).size(), to);
  test::overwrite(path_ + "/Level_1/Cell_D_00000", data);

  const auto read = io::NyxPlotfile(path_).read_covering("density", whole(1), 0, 1);

  const auto view = read.view(0);
  EXPECT_EQ(view(0, 4, 4), density_at(2.5, 2.5, 0.5)) << "cell 4 lost its fine box: the coarse cell 2 shows";
  EXPECT_EQ(view(0, 4, 3), density_at(1.75, 2.25, 0.25));
}

TEST_F(ForeignPlotfileTest, DomainsThatAreNoMultiplesAreRefused) {
  replace("/Header", "((0,0,0) (15,15,15)", "((0,0,0) (14,15,15)");

  EXPECT_THROW(io::NyxPlotfile{path_}, core::Error);
}

TEST_F(ForeignPlotfileTest, AnyByteChangedIsReadOrRefusedButNeverACrash) {
  std::mt19937 random(static_cast<unsigned>(comm_.rank()) + 1);
  for (const std::string text : {"/Header", "/Level_1/Cell_H", "/Level_2/Cell_H", "/Level_1/Cell_D_00000"}) {
    const std::string good = test::content_of(path_ + text);
    for (int i = 0; i < 150; ++i) {
      std::string bad = good;
      for (unsigned n = 0; n <= random() % 3; ++n) {
        static constexpr std::string_view nasty = "0123456789-.,() \n/enaif\0\xff";
        bad[random() % std::min<std::size_t>(bad.size(), 2000)] = nasty[random() % nasty.size()];
      }
      test::overwrite(path_ + text, bad);
      read();
    }
    test::overwrite(path_ + text, good);
  }
}

}  // namespace
}  // namespace sidestream
