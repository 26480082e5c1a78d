// Enzo files of others: made here by hand, without anything of ours beside them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

using io::DatasetHandle;
using io::ElementType;
using io::PropertiesHandle;
using io::SpaceHandle;

constexpr std::int32_t cells = 8;

double density_at(double x, double y, double z) {
  return 1.0 + 0.5 * x + 0.25 * y + 0.125 * z;
}

// A grid of 4^3 cells on the coarsest level and one on the next, four times finer, each rank's own files.
class ForeignEnzoTest : public testing::Test {
 protected:
  ForeignEnzoTest() {
    std::filesystem::create_directories(path_);
    put("/DD0001", parameters());
    put("/DD0001.hierarchy", hierarchy());
    const io::FileHandle file = io::create_hdf5_file(path_ + "/DD0001.cpu0000");
    put_grid(file, "Grid00000001", {0, 0, 0}, 8, 0.125);
    put_grid(file, "Grid00000002", {0.25, 0.25, 0.0}, 8, 0.03125);
    put_particles(file, "Grid00000002");
  }

  static std::string parameters() {
    return "InitialCycleNumber  = 17\nInitialTime         = 2.5\nTopGridRank = 3\nTopGridDimensions   = 8 8 8 \n"
           "DomainLeftEdge         = 0 0 0 \nDomainRightEdge        = 1 1 1 \n"
           "LeftFaceBoundaryCondition  = 3 0 3 (periodic and reflecting)\nRefineBy              = 4\nGamma = 1.4\n"
           "ComovingCoordinates   = 0\nNumberOfParticles = 3 (do not modify)\nVersionNumber = 1.5\n#DataCGS = 1\n";
  }
  static std::string grid(int number, const char* edges, int particles) {
    return fmt::format(
        "\nGrid = {}\nTask              = 0\nGridRank          = 3\nGridDimension     = 14 14 14 \n"
        "GridStartIndex    = 3 3 3 \nGridEndIndex      = 10 10 10 \n{}Time              = 2.5\nNumberOfBaryonFields = "
        "2\n"
        "FieldType = 0 1 \nBaryonFileName = /somewhere/else/DD0001.cpu0000\nNumberOfParticles   = {}\n",
        number, edges, particles);
  }
  static std::string hierarchy() {
    return grid(1, "GridLeftEdge      = 0 0 0 \nGridRightEdge     = 1 1 1 \n", 0) +
           "Pointer: Grid[1]->NextGridThisLevel = 0\nPointer: Grid[1]->NextGridNextLevel = 2\n" +
           grid(2, "GridLeftEdge      = 0.25 0.25 0 \nGridRightEdge     = 0.5 0.5 0.25 \n", 3) +
           "ParticleFileName = ./DD0001.cpu0000\nPointer: Grid[2]->NextGridThisLevel = 0\n"
           "Pointer: Grid[2]->NextGridNextLevel = 0\n";
  }

  void put(const std::string& name, const std::string& text) const { std::ofstream(path_ + name) << text; }
  void replace(const std::string& name, const std::string& from, const std::string& to) const {
    std::string text = test::content_of(path_ + name);
    const auto place = text.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    test::overwrite(path_ + name, text.replace(place, from.size(), to));
  }

  // Chunked and compressed, in single precision.
  static void put_values(hid_t file, const std::string& name, const std::vector<hsize_t>& shape,
                         const std::vector<float>& values) {
    const PropertiesHandle creation(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate"),
        links(H5Pcreate(H5P_LINK_CREATE), "H5Pcreate");
    H5Pset_create_intermediate_group(links, 1);
    const std::vector<hsize_t> chunk(shape.size(), 3);
    H5Pset_chunk(creation, static_cast<int>(shape.size()), chunk.data());
    H5Pset_deflate(creation, 5);
    const SpaceHandle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr),
                            "H5Screate_simple");
    const DatasetHandle dataset(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32BE, space, links, creation, H5P_DEFAULT),
                                "H5Dcreate2");
    H5Dwrite(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  }
  static void put_grid(hid_t file, const std::string& group, std::array<double, 3> edge, int n, double size,
                       int ghost = 0) {
    std::vector<float> density, metals;
    for (int k = -ghost; k < n + ghost; ++k)
      for (int j = -ghost; j < n + ghost; ++j)
        for (int i = -ghost; i < n + ghost; ++i) {
          density.push_back(static_cast<float>(
              density_at(edge[0] + (i + 0.5) * size, edge[1] + (j + 0.5) * size, edge[2] + (k + 0.5) * size)));
          metals.push_back(static_cast<float>(i));
        }
    const auto side = static_cast<hsize_t>(n + 2 * ghost);
    put_values(file, group + "/Density", {side, side, side}, density);
    put_values(file, group + "/Metal_Density", {side, side, side}, metals);
  }
  static void put_particles(hid_t file, const std::string& group) {
    const std::vector<float> x{0.3F, 0.4F, 0.45F};
    for (const char* axis : {"x", "y", "z"})
      put_values(file, fmt::format("{}/particle_position_{}", group, axis), {3}, x);
    put_values(file, group + "/particle_mass", {3}, {32768.0F, 65536.0F, 98304.0F});
    put_values(file, group + "/particle_velocity_y", {3}, {1.0F, 2.0F, 3.0F});
    put_values(file, group + "/creation_time", {3}, {0.0F, 0.5F, 1.0F});
    const std::vector<std::int32_t> ids{7, 1000, 3};
    io::put_dataset(file, group + "/particle_index", H5T_NATIVE_INT32, {3}, ids.data());
  }

  std::unique_ptr<io::SnapshotFile> open() const { return io::open_snapshot_file(path_); }
  // Reads everything; anything but a core::Error is a failure or the end of the test.
  bool reads() const {
    try {
      open()->verify();
      return true;
    } catch (const core::Error& error) {
      EXPECT_FALSE(error.where().empty()) << error.what();
      return false;
    }
  }
  static mesh::Layout whole(std::int32_t n) { return mesh::split(mesh::domain_of({n, n, n}), {1, 1, 1}); }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::string path_ = folder_ / ("DD0001_of_" + std::to_string(comm_.rank()));
};

TEST_F(ForeignEnzoTest, IsReadWithAnyRatioCompressionAndOrderOfBytes) {
  const auto file = open();
  const io::FileDescription& found = file->description();
  mesh::Field<double> coarse(whole(cells), 0), fine(whole(4 * cells), 0);
  file->read_field("density", coarse);
  file->read_covering("density", fine, 1);

  EXPECT_EQ(found.format, "enzo");
  EXPECT_EQ(found.state.moment.step, 17);
  EXPECT_EQ(found.state.moment.time, 2.5);
  EXPECT_EQ(found.state.gamma, 1.4);
  EXPECT_EQ(found.kind, io::FileKind::plot_file);
  EXPECT_EQ(found.state.geometry.periodic, (mesh::Periodicity{true, false, true}));
  EXPECT_EQ(found.ratios[1], (mesh::Int3{4, 4, 4}));
  EXPECT_EQ(found.state.levels[1].box(0), (mesh::Box{{8, 8, 0}, {16, 16, 8}}));
  EXPECT_THAT(mesh::names_of(found.fields), testing::Contains("Metal_Density")) << "names that we do not know stay";
  EXPECT_FLOAT_EQ(static_cast<float>(coarse.view(0)(7, 2, 5)),
                  1.0F + 0.5F * 0.6875F + 0.25F * 0.3125F + 0.125F * 0.9375F);
  EXPECT_NEAR(fine.view(0)(3, 9, 12), density_at(12.5 / 32, 9.5 / 32, 3.5 / 32), 1e-6) << "from the fine grid";
  EXPECT_NEAR(fine.view(0)(31, 9, 12), density_at(3.5 / 8, 2.5 / 8, 7.5 / 8), 1e-6) << "from the coarse one";
}

TEST_F(ForeignEnzoTest, ItsParticlesComeWithMassesAndTheirOwnNumbers) {
  const auto file = open();
  const mesh::Particles all = file->read_particles(), last = file->read_particles(2, 3);

  EXPECT_EQ(all.id, (std::vector<std::int64_t>{7, 1000, 3}));
  EXPECT_EQ(all.attribute("mass"), (std::vector<double>{1.0, 2.0, 3.0})) << "times the volume of a fine cell";
  EXPECT_EQ(all.attribute("yvel"), (std::vector<double>{1.0, 2.0, 3.0}));
  EXPECT_EQ(all.attribute("creation_time")[1], 0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(all.position[2][1]), 0.4F);
  EXPECT_EQ(last.id, (std::vector<std::int64_t>{3}));
}

TEST_F(ForeignEnzoTest, ItsTypesOfParticlesAreSpecies) {
  const auto species_of = [&](std::vector<std::int32_t> types) {
    {
      const io::FileHandle file(H5Fopen((path_ + "/DD0001.cpu0000").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "H5Fopen");
      const std::string name = "Grid00000002/particle_type";
      if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0) H5Ldelete(file, name.c_str(), H5P_DEFAULT);
      io::put_dataset(file, name, H5T_NATIVE_INT32, {3}, types.data());
    }
    return io::species_in(open()->description());
  };

  EXPECT_EQ(species_of({1, 1, 1}).size(), 1U);
  EXPECT_EQ(species_of({1, 4, 4}).front().name, "dark_matter") << "where to refine is marked by dark matter";
  EXPECT_EQ(species_of({4, 2, 4}).front().particles, 2);
  EXPECT_EQ(open()->read_particles().id, (std::vector<std::int64_t>{7, 3}));
  EXPECT_EQ(species_of({1, 2, 77}).back().name, "type_77");
  const std::vector<io::FileSpecies> species = species_of({2, 1, 2});
  ASSERT_EQ(species.size(), 2U);
  EXPECT_EQ(species[0].name, "dark_matter");
  EXPECT_EQ(species[1].name, "stars");
  EXPECT_EQ(species[1].particles, 2);
  EXPECT_EQ(open()->read_particles().id, (std::vector<std::int64_t>{1000}));
  const mesh::Particles stars = open()->read_particles(0, 1, "stars");
  EXPECT_EQ(stars.id, (std::vector<std::int64_t>{7, 3}));
  EXPECT_EQ(stars.attribute("creation_time"), (std::vector<double>{0.0, 1.0}));
  EXPECT_EQ(stars.attribute("mass"), (std::vector<double>{1.0, 3.0}));
}

// Arrays that cannot be read as numbers tell that they were not.
TEST_F(ForeignEnzoTest, ArraysOfOtherLengthsAreRefusedBeforeTheyAreRead) {
  const std::string data = path_ + "/DD0001.cpu0000", good = test::content_of(data);
  const auto refusal_with = [&](const std::string& dataset, const std::vector<std::int64_t>& shape) {
    test::overwrite(data, good);
    {
      const io::FileHandle file(H5Fopen(data.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "H5Fopen");
      const std::string name = "Grid00000002/" + dataset, texts(1000, 'x');
      if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0) H5Ldelete(file, name.c_str(), H5P_DEFAULT);
      io::put_dataset(file, name, H5T_C_S1, shape, texts.data());
    }
    try {
      open()->verify();
    } catch (const core::Error& error) {
      return error.message();
    }
    return std::string();
  };

  for (const char* name : {"particle_type", "particle_position_x", "particle_position_y", "particle_mass",
                           "particle_velocity_y", "creation_time", "particle_index"})
    EXPECT_EQ(refusal_with(name, {1000}), "1000 particles instead of 3") << name;
  EXPECT_EQ(refusal_with("Density", {10, 10, 10}), "the data are 10 x 10 x 10 cells, not 8 x 8 x 8");
}

TEST_F(ForeignEnzoTest, AUniverseIsBroughtToOurUnits) {
  replace("/DD0001", "ComovingCoordinates   = 0",
          "ComovingCoordinates = 1\nCosmologyOmegaMatterNow = 0.3\nCosmologyOmegaLambdaNow = 0.7\n"
          "CosmologyHubbleConstantNow = 0.5\nCosmologyComovingBoxSize = 32\nCosmologyInitialRedshift = 60\n"
          "CosmologyCurrentRedshift = 3");
  const auto file = open();
  mesh::Field<double> density(whole(cells), 0);
  file->read_field("density", density);
  const mesh::Particles particles = file->read_particles();

  EXPECT_EQ(file->description().state.moment.scale_factor, 0.25);
  EXPECT_EQ(file->description().state.length_unit, "Mpc");
  EXPECT_NEAR(file->description().state.geometry.length[0], 64.0, 1e-12);
  const double mean = 2.7754e11 * 0.25 * 0.3;  // [Msun/Mpc^3]
  EXPECT_NEAR(density.view(0)(0, 0, 0) / mean, density_at(0.0625, 0.0625, 0.0625), 1e-3);
  EXPECT_NEAR(particles.attribute("mass")[1] / (2.0 * mean * 64 * 64 * 64), 1.0, 1e-3);
  EXPECT_NEAR(particles.position[0][0], 0.3 * 64.0, 1e-5);
  // Enzo's unit of time is 2.519445e17 s / (sqrt(Omega_m) h (1 + z_i)^1.5) (Bryan et al. 2014, ApJS 211, 19).
  const double time_gyr = 2.519445e17 / 3.15576e16 / (std::sqrt(0.3) * 0.5 * std::pow(61.0, 1.5));
  EXPECT_NEAR(particles.attribute("creation_time")[1], 0.5 * time_gyr, 1e-4 * time_gyr);
  EXPECT_EQ(particles.attributes.front().unit, "Gyr");
  EXPECT_NEAR(particles.attribute("yvel")[2], 3.0 * 122.475 * 32.0 * std::sqrt(0.3) * std::sqrt(61.0), 100.0);
}

TEST_F(ForeignEnzoTest, GridsInFilesOfTheirOwnAndGhostCellsAreRead) {
  {
    const io::FileHandle file = io::create_hdf5_file(path_ + "/DD0001.grid0001");
    put_grid(file, "", {0, 0, 0}, 8, 0.125, 3);
  }
  replace("/DD0001.hierarchy", "/somewhere/else/DD0001.cpu0000", "DD0001.grid0001");

  const auto file = open();
  mesh::Field<double> density(whole(cells), 0);
  file->read_field("density", density);

  EXPECT_NEAR(density.view(0)(7, 2, 5), density_at(0.6875, 0.3125, 0.9375), 1e-6);
}

TEST_F(ForeignEnzoTest, DamagedTextsAreNamed) {
  const std::pair<const char*, std::pair<const char*, const char*>> changes[] = {
      {"/DD0001", {"TopGridRank = 3", "TopGridRank = 4"}},
      {"/DD0001", {"8 8 8", "8 8 x"}},
      {"/DD0001", {"8 8 8", "8 8 99999999999"}},
      {"/DD0001", {"DomainRightEdge        = 1", "DomainRightEdge        = nan"}},
      {"/DD0001", {"RefineBy              = 4", "RefineBy              = 2"}},
      {"/DD0001", {"RefineBy              = 4", "RefineBy              = 0.5"}},
      {"/DD0001.hierarchy", {"Grid = 2", "Grid = 3"}},
      {"/DD0001.hierarchy", {"NextGridNextLevel = 2", "NextGridNextLevel = 3"}},
      {"/DD0001.hierarchy", {"NextGridNextLevel = 2", "NextGridNextLevel = 1"}},
      {"/DD0001.hierarchy", {"NextGridNextLevel = 2", "NextGridNextLevel = 0"}},
      {"/DD0001.hierarchy", {"Grid[2]->NextGridThisLevel = 0", "Grid[2]->NextGridThisLevel = 1"}},
      {"/DD0001.hierarchy", {"0.5 0.5 0.25", "0.5 0.5 0.5"}},
      {"/DD0001.hierarchy", {"0.25 0.25 0", "0.25 1e300 0"}},
      {"/DD0001.hierarchy", {"10 10 10", "10 10 2000000"}},
      {"/DD0001.hierarchy", {"NumberOfParticles   = 3", "NumberOfParticles   = 4000000000000"}},
      {"/DD0001.hierarchy", {"NumberOfParticles   = 3", "NumberOfParticles   = -1"}},
      {"/DD0001.hierarchy", {"DD0001.cpu0000", "DD0001.cpu0001"}}};
  for (const auto& [name, change] : changes) {
    const std::string good = test::content_of(path_ + name);
    replace(name, change.first, change.second);
    EXPECT_FALSE(reads()) << change.second;
    test::overwrite(path_ + name, good);
  }
  EXPECT_TRUE(reads());
}

TEST_F(ForeignEnzoTest, NumbersThatCannotBeAreRefusedWithTheirEntry) {
  const std::string universe =
      "ComovingCoordinates = 1\nCosmologyOmegaMatterNow = 0.3\nCosmologyOmegaLambdaNow = 0.7\n"
      "CosmologyHubbleConstantNow = 0.5\nCosmologyComovingBoxSize = 32\nCosmologyInitialRedshift = 60\n"
      "CosmologyCurrentRedshift = 3";
  replace("/DD0001", "ComovingCoordinates   = 0", universe);
  const std::vector<std::array<const char*, 4>> changes{
      {"MatterNow = 0.3", "MatterNow = 40", "Omega of matter is 40", "CosmologyOmegaMatterNow"},
      {"ConstantNow = 0.5", "ConstantNow = 50", "is 50, not from 0 to 10", "CosmologyHubbleConstantNow"},
      {"BoxSize = 32", "BoxSize = 1e300", "the side of the domain along x is", "DomainRightEdge"},
      {"LambdaNow = 0.7", "LambdaNow = -1e9", "cosmological constant is -1000000000", "CosmologyOmegaLambdaNow"},
      {"InitialTime         = 2.5", "InitialTime = 1e200", "the time is 1e+200", "InitialTime"},
      {"InitialCycleNumber  = 17", "InitialCycleNumber = 1e300", "1e+300 is no whole number", "InitialCycleNumber"},
      {"InitialCycleNumber  = 17", "InitialCycleNumber = -3", "the step is -3", "InitialCycleNumber"},
      {"Gamma = 1.4", "Gamma = 0.1", "the adiabatic index is 0.1", "Gamma"}};
  EXPECT_TRUE(reads());
  for (const auto& [from, to, what, where] : changes) {
    const std::string good = test::content_of(path_ + "/DD0001");
    replace("/DD0001", from, to);
    try {
      open();
      ADD_FAILURE() << to;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr(what));
      EXPECT_THAT(error.where(), testing::AllOf(testing::HasSubstr("DD0001"), testing::HasSubstr(where)));
    }
    test::overwrite(path_ + "/DD0001", good);
  }
}

TEST_F(ForeignEnzoTest, CoarseGridsThatLeaveHolesAreRefused) {
  replace("/DD0001.hierarchy", "GridRightEdge     = 1 1 1", "GridRightEdge     = 1 1 0.875");
  replace("/DD0001.hierarchy", "GridEndIndex      = 10 10 10", "GridEndIndex      = 10 10 9");

  try {
    open();
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("holes: they have 448 of its 512 cells"));
  }
}

TEST_F(ForeignEnzoTest, ANegativeDensityIsRefusedWithItsCell) {
  {
    const io::FileHandle file(H5Fopen((path_ + "/DD0001.cpu0000").c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "H5Fopen");
    H5Ldelete(file, "Grid00000002/Density", H5P_DEFAULT);
    std::vector<float> density(512, 1.0F);
    density[8 * 8 * 2 + 8 * 3 + 4] = -7.0F;
    put_values(file, "Grid00000002/Density", {8, 8, 8}, density);
  }
  try {
    open()->verify();
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("`density` is -7"));
    EXPECT_THAT(error.where(), testing::HasSubstr("level 1, cell (12, 11, 2)"));
  }
}

TEST_F(ForeignEnzoTest, AnyBytesChangedInTheTextsAreReadOrRefusedButNeverACrash) {
  std::mt19937 random(static_cast<unsigned>(comm_.rank()) + 1);
  for (const std::string name : {"/DD0001", "/DD0001.hierarchy"}) {
    const std::string good = test::content_of(path_ + name);
    for (int i = 0; i < 200; ++i) {
      std::string bad = good;
      for (unsigned n = 0; n <= random() % 3; ++n) {
        static constexpr std::string_view nasty = "0123456789-.=[]> \n/enaif\0\xff";
        bad[random() % bad.size()] = nasty[random() % nasty.size()];
      }
      test::overwrite(path_ + name, bad);
      reads();
    }
    test::overwrite(path_ + name, good);
  }
}

}  // namespace
}  // namespace sidestream
