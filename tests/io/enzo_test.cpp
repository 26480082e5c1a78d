// What is particular to our own folders in the format of Enzo.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "format_fixture.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "io/containers/hdf5/hdf5_input.hpp"
#include "io/formats/enzo/enzo_hierarchy.hpp"
#include "io/formats/enzo/enzo_units.hpp"
#include "sidestream/core/error.hpp"
#include "support/sample_content.hpp"

namespace sidestream {
namespace {

using test::Deal;
using test::SampleContent;
using test::SampleState;
using testing::HasSubstr;

class EnzoTest : public test::FormatTest {
 protected:
  const io::Format& format() const override { return io::formats().named("enzo"); }

  static int grid_files(const std::string& path) {
    int count = 0;
    test::for_each_file(path, [&](const std::string& file) { count += file.find(".cpu") != std::string::npos; });
    return count;
  }
};

TEST_F(EnzoTest, EachRankThatOwnsGridsHasAFile) {
  io::WriteOptions one_at_a_time;
  one_at_a_time.files = 1;
  const std::string all = write(SampleState(comm_, 2).checkpoint(), "DD00007", one_at_a_time);
  const std::string last = write(SampleState(comm_, 2, Deal::to_last_rank).checkpoint(), "DD00008");

  EXPECT_EQ(grid_files(all), comm_.size());
  EXPECT_EQ(grid_files(last), 1);
  test::expect_sample_checkpoint(comm_, *format().open(last), 2);
}

TEST_F(EnzoTest, RanksThatFollowEachOtherShareAFile) {
  io::WriteOptions in_two;
  in_two.files = 2;
  const io::Format& shared = io::formats().named("enzo-hdf5");
  const std::string all = folder_ / "DDS00007", last = folder_ / "DDS00008";
  test::write(comm_, shared, all, SampleState(comm_, 2).checkpoint(), in_two);
  test::write(comm_, shared, last, SampleState(comm_, 2, Deal::to_last_rank).checkpoint(), in_two);

  EXPECT_EQ(grid_files(all), std::min(2, comm_.size()));
  EXPECT_EQ(grid_files(last), 1) << "ranks without grids have no file";
  for (const std::string& path : {all, last}) {
    EXPECT_TRUE(shared.recognizes(path));
    test::expect_sample_checkpoint(comm_, *shared.open(path), 2);
    shared.open(path)->verify();
  }
}

TEST_F(EnzoTest, NoGroupTellsWhenItWasMade) {
  const std::string path = write(SampleState(comm_, 2, Deal::to_last_rank).checkpoint(), "DD00007");

  const io::FileHandle file = io::open_hdf5_quietly(fmt::format("{}/DD00007.cpu{:04}", path, comm_.size() - 1));
  for (const char* group : {"sidestream", "Grid00000001"}) {
    H5O_info_t info;
    ASSERT_GE(H5Oget_info_by_name(file, group, &info, H5P_DEFAULT), 0) << group;
    EXPECT_EQ(info.ctime, 0) << group;
  }
}

TEST_F(EnzoTest, TheFilesOfAFolderAreThoseOfEnzo) {
  const std::string path = write(SampleState(comm_, 2).plotfile(), "RD00007");

  for (const char* name : {"RD00007", "RD00007.hierarchy", "RD00007.boundary", "RD00007.boundary.hdf",
                           "RD00007.cpu0000", "sidestream.json"})
    EXPECT_TRUE(std::filesystem::exists(path + "/" + name)) << name;
  for (const char* name : {"", "/RD00007", "/RD00007.hierarchy"}) {
    EXPECT_TRUE(format().recognizes(path + name)) << name;
    EXPECT_EQ(format().open(path + name)->description().state.levels.size(), 2U);
  }
}

TEST_F(EnzoTest, AllThatARankHoldsIsWrittenAtOnce) {
  const SampleState state(comm_, 1, Deal::in_pieces);
  auto content = state.checkpoint();
  content.particles.stored.clear();

  for (const char* name : {"enzo", "enzo-hdf5"}) {
    const io::AccessStatistics own = test::write(comm_, io::formats().named(name), folder_ / name, content);

    const int blocks = state.layouts(1).front().size(), ranks = comm_.size();
    const bool has_blocks = blocks * (comm_.rank() + 1) / ranks > blocks * comm_.rank() / ranks;
    const int data_and_checksums = has_blocks ? 2 : 0;
    const bool makes_a_file = std::string(name) == "enzo" || comm_.rank() == 0;
    const int tables = makes_a_file ? 2 : 0, records = makes_a_file ? 2 : 0;
    EXPECT_LE(own.writes, data_and_checksums + tables + records) << name;
    comm_.barrier();
  }
}

TEST_F(EnzoTest, APlotFileOfAUniverseHasEnzosUnitsAndComesBackInOurs) {
  const SampleContent sample(comm_.rank(), comm_.size());
  const test::FileState content = sample.content(false);
  const std::string path = write(content, "RD00007");

  const io::EnzoParameters parameters(path + "/RD00007");
  const auto file = format().open(path);

  EXPECT_EQ(parameters.number("ComovingCoordinates"), 1.0);
  EXPECT_EQ(parameters.number("CosmologyComovingBoxSize"), 16.0 * 0.68);
  EXPECT_EQ(parameters.number("CosmologyCurrentRedshift"), 1.0);
  EXPECT_EQ(parameters.numbers("DomainRightEdge", 3), (std::vector<double>{1.0, 1.0, 1.0}));
  EXPECT_EQ(file->description().state.geometry.length[2], 16.0);
  for (int level = 0; level < 3; ++level)
    for (std::size_t f = 0; f < SampleContent::names.size(); ++f) {
      mesh::Field<double> read(sample.layouts()[static_cast<std::size_t>(level)], comm_.rank());
      file->read_field(SampleContent::names[f], read, level);
      const auto& expected = sample.field(level);
      for (int b = 0; b < read.blocks(); ++b)
        core::for_each_cell(read.box(b), [&](int k, int j, int i) {
          const double value = expected.view(b)(static_cast<int>(f), k, j, i);
          EXPECT_NEAR(read.view(b)(k, j, i), value, 2e-7 * std::fabs(value)) << SampleContent::names[f];
        });
    }
  const mesh::Particles particles = file->read_particles(comm_.rank(), comm_.size());
  for (std::size_t p = 0; p < particles.size(); ++p)
    EXPECT_NEAR(particles.attribute("mass")[p], SampleContent::mass_of(particles.id[p]),
                2e-7 * SampleContent::mass_of(particles.id[p]));
}

TEST(EnzoUnits, AreThoseOfTheMethodPaper) {
  io::EnzoCosmology cosmology;
  cosmology.omega_m = 0.3;
  cosmology.omega_lambda = 0.7;
  cosmology.hubble = 0.7;
  cosmology.box_size = 50.0;
  cosmology.initial_redshift = 30.0;

  const io::EnzoUnits units = cosmology.units();

  const double mean_density = 2.7754e11 * 0.7 * 0.7 * 0.3;  // [Msun/Mpc^3]
  EXPECT_NEAR(units.density * mean_density, 1.0, 1e-3) << "a density of 1 is the mean of the matter";
  EXPECT_NEAR(units.length * 50.0 / 0.7, 1.0, 1e-12);
  EXPECT_NEAR(1e5 / units.velocity, 1.22475e7 * 50.0 * std::sqrt(0.3) * std::sqrt(31.0), 1e-3 * 1e10) << "equation 25";
  EXPECT_NEAR(cosmology.time_unit(), 2.519445e17 / std::sqrt(0.3) / 0.7 / std::pow(31.0, 1.5), 1e-3 * 4e15);
  EXPECT_NEAR(cosmology.age(), 13.467e9 * 3.15576e7, 1e-3 * 4.2e17);
}

TEST(EnzoTree, IsWalkedAsEnzoDoes) {
  // Two blocks, the first with two children, the second of which has one; the second with one child.
  const auto layout = [](std::int32_t cells, std::vector<mesh::Box> boxes, int level) {
    std::vector<std::int32_t> owners(boxes.size(), 0);
    return mesh::Layout({{0, 0, 0}, {cells, 2, 2}}, {}, std::move(boxes), std::move(owners), level);
  };
  const auto box = [](std::int32_t begin, std::int32_t end) { return mesh::Box{{begin, 0, 0}, {end, 2, 2}}; };
  const std::vector<mesh::Layout> levels{layout(8, {box(0, 4), box(4, 8)}, 0),
                                         layout(16, {box(0, 4), box(4, 8), box(8, 12)}, 1),
                                         layout(32, {box(8, 12)}, 2)};

  const io::EnzoTree tree = io::enzo_tree(levels);

  EXPECT_EQ(tree.number, (std::vector<std::int64_t>{1, 2, 4, 5, 3, 6}));
  EXPECT_EQ(tree.next_sibling, (std::vector<std::int64_t>{1, -1, 3, -1, -1, -1}));
  const std::string text = io::enzo_hierarchy_text(tree, std::vector<std::string>(6));
  EXPECT_EQ(text,
            "\nGrid = 1\nPointer: Grid[1]->NextGridThisLevel = 2\n"
            "\nGrid = 2\nPointer: Grid[2]->NextGridThisLevel = 0\nPointer: Grid[2]->NextGridNextLevel = 3\n"
            "\nGrid = 3\nPointer: Grid[3]->NextGridThisLevel = 0\nPointer: Grid[3]->NextGridNextLevel = 0\n"
            "Pointer: Grid[1]->NextGridNextLevel = 4\n"
            "\nGrid = 4\nPointer: Grid[4]->NextGridThisLevel = 5\n"
            "\nGrid = 5\nPointer: Grid[5]->NextGridThisLevel = 0\nPointer: Grid[5]->NextGridNextLevel = 6\n"
            "\nGrid = 6\nPointer: Grid[6]->NextGridThisLevel = 0\nPointer: Grid[6]->NextGridNextLevel = 0\n"
            "Pointer: Grid[4]->NextGridNextLevel = 0\n");
}

TEST_F(EnzoTest, ADamagedDatasetIsNamed) {
  for (const char* name : {"enzo", "enzo-hdf5"}) {
    const std::string path = folder_ / name;
    const SampleState state(comm_, 2, Deal::in_pieces);
    test::write(comm_, io::formats().named(name), path, state.checkpoint());
    comm_.barrier();
    if (comm_.rank() != 0) continue;
    const std::string file = path + "/" + name + ".cpu0000";
    const std::string good = test::content_of(file);
    std::vector<std::pair<std::string, haddr_t>> places;
    {
      const io::Hdf5Reader reader(file);
      for (const std::string& dataset : reader.names("Grid00000001")) {
        const io::DatasetHandle open(H5Dopen2(reader.file(), ("Grid00000001/" + dataset).c_str(), H5P_DEFAULT),
                                     "H5Dopen2");
        places.emplace_back(dataset, H5Dget_offset(open));
      }
    }
    EXPECT_GE(places.size(), 3U);
    for (const auto& [dataset, offset] : places) {
      std::string bad = good;
      bad[offset + 5] ^= 1;
      test::overwrite(file, bad);
      try {
        format().open(path)->verify();
        ADD_FAILURE() << dataset;
      } catch (const core::Error& error) {
        EXPECT_THAT(error.where(), HasSubstr(dataset));
      }
    }
    test::overwrite(file, good);
  }
}

// --- one and two dimensions

class FlatEnzoTest : public EnzoTest, public testing::WithParamInterface<mesh::Int3> {
 protected:
  // Each level's half of the next coarser one, in two boxes.
  mesh::Layout layout(int level) const {
    const mesh::Geometry fine = geometry().refined(level);
    const mesh::Int3 n = fine.domain.extent();
    const std::int32_t end = n.x >> level;
    const std::vector<mesh::Box> boxes{{{0, 0, 0}, {end / 2, n.y, n.z}}, {{end / 2, 0, 0}, {end, n.y, n.z}}};
    return {fine.domain, {true, true, true}, boxes, {0, comm_.size() - 1}, level};
  }
  mesh::Geometry geometry() const { return {mesh::domain_of(GetParam()), {3.0, 2.0, 1.0}, {true, false, true}}; }
};

TEST_P(FlatEnzoTest, ComesBackBitForBit) {
  std::vector<mesh::Field<double>> fields;
  test::FileState content;
  content.state.geometry = geometry();
  content.state.state_numbers = {{"a", 1.0}};
  content.choice.kind = io::FileKind::checkpoint;
  test::set_levels(content.state, {layout(0), layout(1), layout(2)}, comm_.rank());
  for (int level = 0; level < 3; ++level) {
    fields.emplace_back(layout(level), comm_.rank());
    for (int b = 0; b < fields.back().blocks(); ++b)
      core::for_each_cell(fields.back().box(b), [&](int k, int j, int i) {
        fields.back().view(b)(k, j, i) = SampleState::value(layout(level).domain(), level, {i, j, k}, 0);
      });
  }
  test::add(content, "density", "", {fields.begin(), fields.end()});

  const auto file = format().open(write(content, "DD00001"));

  EXPECT_EQ(file->description().state.geometry.periodic, content.state.geometry.periodic);
  for (int level = 0; level < 3; ++level) {
    EXPECT_EQ(file->description().state.levels[static_cast<std::size_t>(level)].domain(), layout(level).domain());
    mesh::Field<double> read(layout(level), comm_.rank());
    file->read_field("density", read, level);
    EXPECT_EQ(test::cells_off_sample(read, 0), 0);
  }
  file->verify(comm_.rank(), comm_.size());
}

INSTANTIATE_TEST_SUITE_P(Meshes, FlatEnzoTest,
                         testing::Values(mesh::Int3{16, 1, 1}, mesh::Int3{16, 6, 1}, mesh::Int3{16, 6, 4},
                                         mesh::Int3{16, 1, 4}));

TEST_F(EnzoTest, MethodsThatOpenEachDatasetAreRefused) {
  io::WriteOptions options;
  options.method = "hdf5-collective";
  EXPECT_THROW(write(SampleState(comm_, 1).checkpoint(), "DD00001", options), core::Error);
}

TEST_F(EnzoTest, TheAggregatedMethodWritesTheSame) {
  for (const char* name : {"enzo", "enzo-hdf5"}) {
    io::WriteOptions options;
    options.method = "aggregated";
    const SampleState state(comm_, 3);
    test::write(comm_, io::formats().named(name), folder_ / name, state.checkpoint(), options);
    comm_.barrier();
    test::expect_sample_checkpoint(comm_, *format().open(folder_ / name), 3);
    test::expect_sample_particles(comm_, *format().open(folder_ / name), 3);
    comm_.barrier();
  }
}

TEST_F(EnzoTest, AParticleOutsideItsBoxIsRefusedByAll) {
  const SampleState state(comm_, 1);
  auto content = state.checkpoint();
  mesh::Particles strays = *content.particles.stored.front();
  strays.resize(1);
  strays.id = {1};
  for (auto& axis : strays.position) axis = {SampleState::side * 2.0};
  if (comm_.rank() == comm_.size() - 1) content.particles.stored = {test::kept_elsewhere(strays)};

  EXPECT_THROW(write(content, "DD00001"), core::Error);
}

}  // namespace
}  // namespace sidestream
