// Analyses of refined snapshots, against the same on a uniform grid of the finest level with the values of the leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/density.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::integers;
using test::numbers;
using test::RefinedMesh;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr std::array names{"gas_density",      "dark_matter_density", "temperature", "velocity_x",
                           "neutral_hydrogen", "velocity_y",          "velocity_z"};

double value_of(std::size_t field, int level, Int3 cell) {
  const double u = test::noise(100 + field, level, cell);
  if (names[field] == std::string("neutral_hydrogen")) return 1e-12 * std::exp(6 * u);
  return std::string(names[field]).starts_with("velocity") ? 100 * u - 50
                                                           : static_cast<double>(field + 1) * std::exp(6 * u);
}

RefinedMesh some_mesh(int ranks, Int3 cells = {16, 16, 16}) {
  return test::random_mesh(cells, 4, 2, periodic, ranks, 4);
}

mesh::Snapshot refined_snapshot(const RefinedMesh& mesh, int rank) {
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.moment.attributes = {{"hubble", 0.7}, {"omega_m", 0.3}, {"redshift", 3.0}, {"particles", 1000.0}};
  for (std::size_t f = 0; f < names.size(); ++f)
    snapshot.add({names[f], "1"},
                 test::leaves_of(mesh, rank, [f](int level, Int3 cell) { return value_of(f, level, cell); }));
  return snapshot;
}

mesh::Snapshot spread_snapshot(const RefinedMesh& mesh) {
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry.refined(mesh.finest_level());
  snapshot.levels = {test::one_box(mesh.finest_cells())};
  snapshot.moment.attributes = {{"hubble", 0.7}, {"omega_m", 0.3}, {"redshift", 3.0}, {"particles", 1000.0}};
  for (std::size_t f = 0; f < names.size(); ++f) {
    const Grid grid = test::spread(mesh, [f](int level, Int3 cell) { return value_of(f, level, cell); });
    snapshot.add({names[f], "1"}, grid.on(snapshot.levels.front(), 0));
  }
  return snapshot;
}

class EveryRefinedTask : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(
    All, EveryRefinedTask,
    testing::Values("analysis = 'flux'\naxes = ['x']", "analysis = 'flux'\naxes = ['x']\nlevel = 2\nmean_flux = '0.7'",
                    "analysis = 'flux_skewers'\naxis = 'x'\nlevel = 1",
                    "analysis = 'halos'\nt_boundary = '2 mean'\nt_halo = '4 mean'", "analysis = 'pdf'",
                    "analysis = 'pdf'\nweight = 'mass'", "analysis = 'phase'\ntemperature = 'velocity_x'",
                    "analysis = 'power_spectrum'", "analysis = 'power_spectrum'\nlevel = 1",
                    "analysis = 'power_spectrum'\nlevel = 3\nfields = ['temperature']",
                    "analysis = 'projection'\nfields = ['total_density', 'velocity_x']",
                    "analysis = 'projection'\naxis = 'x'\ncombine = 'max'\nlevel = 1",
                    "analysis = 'projection'\naxis = 'y'\nfields = ['temperature']\nweight = 'gas_density'\nlevel = 0",
                    "analysis = 'display'\nquantity = 'total_density'\naxis = 'x'\nscale = 'log'",
                    "analysis = 'slice'\naxis = 'x'\nposition = 0.3", "analysis = 'slice'\nlevel = 1",
                    "analysis = 'structure_functions'\nlevel = 1", "analysis = 'turbulence'",
                    "analysis = 'turbulence'\nlevel = 2\nscalars = ['temperature']"));

TEST_P(EveryRefinedTask, GivesTheSameBitsOnAnyNumberOfRanks) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const auto analysis = test::analysis_of(GetParam());
  const auto alone = analysis->run(self, refined_snapshot(some_mesh(1), 0));

  const auto together = analysis->run(world, refined_snapshot(some_mesh(world.size()), world.rank()));

  if (world.rank() != 0) {
    EXPECT_TRUE(together.columns.empty());
    return;
  }
  EXPECT_TRUE(test::are_identical(together, alone));
}

TEST(RefinedTasks, SayTheFinestLevelWhateverTheAnalysis) {
  const comm::Communicator world(MPI_COMM_WORLD);
  class Nothing final : public Analysis {
    std::vector<std::string> fields() const override { return {}; }
    mesh::Result run(const comm::Communicator&, const mesh::Snapshot&) const override { return {}; }
  };

  const auto found = carry_out(Nothing(), world, refined_snapshot(some_mesh(world.size()), world.rank()));

  if (world.rank() == 0) {
    EXPECT_EQ(std::get<std::int64_t>(found.attributes.at("finest_level")), 2);
  } else {
    EXPECT_TRUE(found.attributes.empty());
  }
}

class SameAsSpread : public testing::TestWithParam<std::pair<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(
    All, SameAsSpread,
    testing::Values(
        std::pair("analysis = 'pdf'", "gas_density_pdf dark_matter_density_pdf total_density_pdf"),
        std::pair("analysis = 'pdf'\nweight = 'mass'", "gas_density_pdf total_density_pdf"),
        std::pair("analysis = 'phase'", "mass volume"),
        std::pair("analysis = 'projection'\nfields = ['velocity_x', 'total_density']", "x y velocity_x total_density"),
        std::pair("analysis = 'projection'\naxis = 'x'\ncombine = 'integral'", "total_density"),
        std::pair("analysis = 'projection'\naxis = 'y'\ncombine = 'max'", "total_density"),
        std::pair("analysis = 'projection'\nfields = ['temperature']\nweight = 'gas_density'", "temperature"),
        std::pair("analysis = 'display'\nquantity = 'total_density'\naxis = 'y'\nposition = 0.7", "limits extremes"),
        std::pair("analysis = 'slice'\naxis = 'y'\nposition = 0.7", "x y total_density")));

TEST_P(SameAsSpread, GivesTheBitsOfAUniformGridOfTheFinestLevel) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const auto analysis = test::analysis_of(GetParam().first);

  const auto refined = analysis->run(world, refined_snapshot(some_mesh(world.size()), world.rank()));

  if (world.rank() != 0) return;
  const auto spread = analysis->run(self, spread_snapshot(some_mesh(1)));
  std::istringstream columns(GetParam().second);
  for (std::string name; columns >> name;) EXPECT_EQ(numbers(refined, name), numbers(spread, name)) << name;
}

TEST(RefinedMean, IsThatOverTheVolumeToTheBit) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  for (const Int3 cells : {Int3{16, 16, 16}, Int3{16, 8, 1}, Int3{16, 1, 1}}) {
    const auto refined = refined_snapshot(some_mesh(world.size(), cells), world.rank());
    const auto spread = spread_snapshot(some_mesh(1, cells));

    for (const std::string name : {"gas_density", "velocity_x", "total_density"})
      EXPECT_EQ(mean(world, field_or_total(refined, name), name), mean(self, field_or_total(spread, name), name));
  }
}

TEST(RefinedPdf, CountsLeavesAndWeighsThemByVolumeOrMass) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto one_of_eight = [](const mesh::Box& box, int) { return box.lo == Int3{}; };
  const RefinedMesh mesh = test::refined_mesh({8, 8, 8}, 4, 1, periodic, world.size(), one_of_eight);
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  // An eighth of the volume has the density 4.5, the rest 0.5: the mean is 1.
  snapshot.add({"gas_density", "1"},
               test::leaves_of(mesh, world.rank(), [](int level, Int3) { return level ? 4.5 : 0.5; }));
  const std::string toml = "analysis = 'pdf'\nfields = ['gas_density']\nlow = 0.1\nhigh = 10.0\nbins = 2\n";

  const auto by_volume = test::analysis_of(toml)->run(world, snapshot);
  const auto by_mass = test::analysis_of(toml + "weight = 'mass'")->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(std::get<double>(by_volume.attributes.at("gas_density_mean")), 1.0);
  EXPECT_EQ(integers(by_volume, "gas_density_count"), (std::vector<std::int64_t>{448, 512}));
  EXPECT_EQ(numbers(by_volume, "gas_density_pdf"), (std::vector<double>{0.875, 0.125}));
  EXPECT_EQ(numbers(by_mass, "gas_density_pdf"), (std::vector<double>{0.4375, 0.5625}));
}

TEST(RefinedPictures, OfACoarserLevelAreAveragesOfThoseOfTheFinest) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = refined_snapshot(some_mesh(world.size()), world.rank());
  for (const std::string task : {"analysis = 'projection'\n", "analysis = 'slice'\nposition = 0.4\n",
                                 "analysis = 'projection'\naxis = 'x'\ncombine = 'integral'\n"}) {
    const auto fine = test::analysis_of(task)->run(world, snapshot);
    for (int levels = 1; levels <= 2; ++levels) {
      const auto coarse = test::analysis_of(task + "level = " + std::to_string(2 - levels))->run(world, snapshot);

      if (world.rank() != 0) continue;
      Grid picture({64, 64, 1});
      picture.values = numbers(fine, "total_density");
      const Grid expected = test::averaged(picture, levels);
      const auto& found = numbers(coarse, "total_density");
      ASSERT_EQ(found.size(), expected.values.size());
      for (std::size_t p = 0; p < found.size(); ++p)
        EXPECT_NEAR(found[p], expected.values[p], 1e-12 * expected.values[p]) << task << p;
      EXPECT_EQ(std::get<std::int64_t>(coarse.attributes.at("level")), 2 - levels);
      EXPECT_EQ(numbers(coarse, "x").front(), 0.5 * (1 << levels) / 4);
    }
  }
}

TEST(RefinedPictures, OfAFinerLevelRepeatThePixelsOfTheFinest) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = refined_snapshot(some_mesh(world.size()), world.rank());
  for (const std::string task : {"analysis = 'projection'\n", "analysis = 'slice'\n"}) {
    const auto finest = test::analysis_of(task)->run(world, snapshot);

    const auto finer = test::analysis_of(task + "level = 3")->run(world, snapshot);

    if (world.rank() != 0) continue;
    for (std::size_t row = 0; row < 128; ++row)
      for (std::size_t column = 0; column < 128; ++column)
        EXPECT_EQ(numbers(finer, "total_density")[row * 128 + column],
                  numbers(finest, "total_density")[row / 2 * 64 + column / 2]);
  }
}

TEST(RefinedPictures, HaveNoMoreThan2048PixelsASideUnlessToldSo) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto first = [](const mesh::Box& box, int) { return box.lo.x == 0; };
  const RefinedMesh mesh = test::refined_mesh({1024, 4, 1}, 4, 3, periodic, world.size(), first);
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.add({"total_density", "1"},
               test::leaves_of(mesh, world.rank(), [](int level, Int3) { return level + 1.0; }));

  const auto by_default = test::analysis_of("analysis = 'slice'")->run(world, snapshot);
  const auto as_told = test::analysis_of("analysis = 'slice'\nlevel = 3")->run(world, snapshot);

  if (world.rank() == 0) {
    EXPECT_EQ(by_default.summary, "2048 x 8 pixels");
    EXPECT_EQ(as_told.summary, "8192 x 32 pixels");
    EXPECT_EQ(numbers(by_default, "total_density").front(), 4.0);
    EXPECT_EQ(numbers(by_default, "total_density").back(), 1.0);
  }
  EXPECT_THROW(test::analysis_of("analysis = 'slice'\nlevel = 20")->run(world, snapshot), core::Error);
}

TEST(RefinedSlice, ShowsAPixelWithoutANumberWhereOneOfItsCellsHasNone) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto all = [](const mesh::Box&, int) { return true; };
  const RefinedMesh mesh = test::refined_mesh({4, 4, 1}, 4, 1, periodic, world.size(), all);
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.add({"total_density", "1"}, test::leaves_of(mesh, world.rank(), [](int, Int3 cell) {
                 return cell == Int3{3, 0, 0} ? std::numeric_limits<double>::quiet_NaN() : cell.x;
               }));

  const auto result = test::analysis_of("analysis = 'slice'\nlevel = 0")->run(world, snapshot);

  if (world.rank() != 0) return;
  const auto& picture = numbers(result, "total_density");
  EXPECT_TRUE(std::isnan(picture[1]));
  EXPECT_EQ(picture[0], 0.5);
  EXPECT_EQ(picture[5], 2.5);
}

TEST(RefinedTasks, NameTheLevelOfACellThatHoldsNoNumber) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const RefinedMesh mesh = some_mesh(world.size());
  const Int3 bad = mesh.levels[1].box(0).lo;
  auto snapshot = refined_snapshot(mesh, world.rank());
  snapshot.add({"gas_density", "1"}, test::leaves_of(mesh, world.rank(), [&](int level, Int3 cell) {
                 return level == 1 && cell == bad ? std::numeric_limits<double>::infinity() : 1.0;
               }));
  for (const char* name : {"halos", "pdf", "phase", "power_spectrum", "projection"}) {
    std::string message;
    try {
      test::analysis_of("analysis = '" + std::string(name) + "'")->run(world, snapshot);
    } catch (const core::Error& error) {
      message = error.what();
    }
    EXPECT_THAT(message, testing::HasSubstr("of level 1")) << name;
  }
}

}  // namespace
}  // namespace sidestream::analysis
