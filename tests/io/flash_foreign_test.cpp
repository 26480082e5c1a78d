// FLASH files that others wrote: two-dimensional, single precision, compressed, of versions 8 and 9.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <array>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/io/format.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

constexpr hsize_t nx = 4, ny = 2;
constexpr double lower = -1.0;

struct Block {
  int level;  // from that of the file's root blocks on
  int x, y;   // in blocks of the level
};

// Two by two root blocks, the first of which has children, in the order of FLASH: a parent before its children.
const std::vector<Block>& blocks() {
  static const std::vector<Block> all{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {1, 0, 1},
                                      {1, 1, 1}, {0, 1, 0}, {0, 0, 1}, {0, 1, 1}};
  return all;
}

double block_size(int level, int axis) {
  return (axis == 0 ? 8.0 : 4.0) / (1 << level);
}

double density_at(double x, double y) {
  return 1.0 + 0.5 * x + 0.25 * y;
}

template <std::size_t n>
void put(hid_t file, const char* name, hid_t type, const std::array<hsize_t, n>& shape, const void* data,
         bool is_compressed = false) {
  const hid_t space = H5Screate_simple(static_cast<int>(n), shape.data(), nullptr),
              list = H5Pcreate(H5P_DATASET_CREATE);
  if (is_compressed) {
    std::array<hsize_t, n> chunk = shape;
    chunk[0] = 3;
    H5Pset_chunk(list, static_cast<int>(n), chunk.data());
    H5Pset_shuffle(list);
    H5Pset_deflate(list, 4);
  }
  const hid_t dataset = H5Dcreate2(file, name, type, space, H5P_DEFAULT, list, H5P_DEFAULT);
  H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(dataset);
  H5Pclose(list);
  H5Sclose(space);
}

hid_t text_type(std::size_t length) {
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, length);
  return type;
}

std::string padded(std::string text, std::size_t length) {
  text.resize(length, ' ');
  return text;
}

template <typename T>
void put_pairs(hid_t file, const char* name, hid_t value_type, const std::vector<std::pair<std::string, T>>& pairs) {
  std::string bytes;
  for (const auto& [key, value] : pairs) {
    bytes += padded(key, 80);
    if constexpr (std::is_same_v<T, std::string>)
      bytes += padded(value, 80);
    else
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const hid_t type = H5Tcreate(H5T_COMPOUND, 80 + H5Tget_size(value_type)), text = text_type(80);
  H5Tinsert(type, "name", 0, text);
  H5Tinsert(type, "value", 80, value_type);
  put<1>(file, name, type, {pairs.size()}, bytes.data());
  H5Tclose(text);
  H5Tclose(type);
}

void put_scalars(hid_t file) {
  put_pairs<int>(file, "integer scalars", H5T_NATIVE_INT,
                 {{"nxb", 4}, {"nyb", 2}, {"nzb", 1}, {"dimensionality", 2}, {"globalnumblocks", 8}, {"nstep", 12}});
  put_pairs<double>(file, "real scalars", H5T_NATIVE_DOUBLE, {{"time", 2.5}});
  put_pairs<double>(file, "real runtime parameters", H5T_NATIVE_DOUBLE,
                    {{"xmin", lower},
                     {"xmax", lower + 16.0},
                     {"ymin", lower},
                     {"ymax", lower + 8.0},
                     {"zmin", 0.0},
                     {"zmax", 0.0},
                     {"gamma", 1.4}});
  const hid_t text = text_type(80);
  put_pairs<std::string>(file, "string runtime parameters", text, {{"xl_boundary_type", "outflow"}});
  H5Tclose(text);
}

// Version 8 keeps as many axes as there are, version 9 always three. The root blocks are of level `first_level`.
void put_tree(hid_t file, int version, int first_level) {
  const std::size_t axes = version == 8 ? 2 : 3;
  std::vector<int> levels;
  std::vector<float> boxes, cells;
  for (const Block& block : blocks()) {
    levels.push_back(first_level + block.level);
    const std::array<int, 2> position{block.x, block.y};
    for (std::size_t axis = 0; axis < axes; ++axis)
      for (int side = 0; side < 2; ++side) {
        const double size = axis < 2 ? block_size(block.level, static_cast<int>(axis)) : 0.0;
        boxes.push_back(axis < 2 ? static_cast<float>(lower + size * (position[axis] + side)) : 0.0F);
      }
    for (hsize_t j = 0; j < ny; ++j)
      for (hsize_t i = 0; i < nx; ++i) {
        const double x = block_size(block.level, 0) * (block.x + (static_cast<double>(i) + 0.5) / nx),
                     y = block_size(block.level, 1) * (block.y + (static_cast<double>(j) + 0.5) / ny);
        cells.push_back(static_cast<float>(density_at(x, y)));
      }
  }
  put<1>(file, "refine level", H5T_NATIVE_INT, {8}, levels.data());
  put<3>(file, "bounding box", H5T_NATIVE_FLOAT, {8, axes, 2}, boxes.data());
  const hid_t four = text_type(4);
  put<2>(file, "unknown names", four, {1, 1}, "dens");
  H5Tclose(four);
  put<4>(file, "dens", H5T_NATIVE_FLOAT, {8, 1, ny, nx}, cells.data(), true);
}

void put_particles(hid_t file) {
  const hid_t name = text_type(24);
  const std::string names = padded("posx", 24) + padded("posy", 24) + padded("tag", 24) + padded("velx", 24);
  put<2>(file, "particle names", name, {4, 1}, names.data());
  H5Tclose(name);
  const std::vector<double> rows{0.0, 1.0, 7.0, 3.5, 14.0, 6.5, 8.0, -2.5, 2.0, 2.0, 9.0, 0.5};
  put<2>(file, "tracer particles", H5T_NATIVE_DOUBLE, {3, 4}, rows.data());
}

class ForeignFlashTest : public testing::TestWithParam<int> {
 protected:
  ForeignFlashTest() {
    if (comm_.rank() == 0) {
      const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
      put_scalars(file);
      put_tree(file, GetParam(), GetParam() == 8 ? 3 : 1);
      put_particles(file);
      H5Fclose(file);
    }
    comm_.barrier();
  }

  comm::Communicator comm_{MPI_COMM_WORLD};
  test::TemporaryFolder folder_{comm_};
  std::string path_ = folder_ / "shear_hdf5_plt_cnt_0012";
};

TEST_P(ForeignFlashTest, TheTablesTellWhatTheFileHolds) {
  const auto file = io::open_snapshot_file(path_);

  const io::FileDescription& description = file->description();
  EXPECT_EQ(description.format, "flash");
  EXPECT_EQ(description.kind, io::FileKind::plot_file);
  EXPECT_EQ(description.state.moment.step, 12);
  EXPECT_EQ(description.state.moment.time, 2.5);
  EXPECT_EQ(description.state.gamma, 1.4);
  EXPECT_EQ(description.state.geometry.domain, mesh::domain_of({8, 4, 1}));
  EXPECT_EQ(description.state.geometry.length, (std::array<double, 3>{16.0, 8.0, 1.0}));
  EXPECT_EQ(description.state.geometry.periodic, (mesh::Periodicity{false, true, true}));
  EXPECT_EQ(description.origin, (std::array<double, 3>{lower, lower, 0.0}));
  EXPECT_EQ(description.state.length_unit, "cm");
  ASSERT_EQ(description.state.levels.size(), 2U);
  EXPECT_EQ(description.state.levels[0].size(), 4);
  EXPECT_EQ(description.state.levels[1].size(), 4);
  EXPECT_EQ(description.ratios[1], (mesh::Int3{2, 2, 1}));
  EXPECT_EQ(description.fields[0].name, "density");
  EXPECT_EQ(description.fields[0].unit, "g/cm^3");
}

TEST_P(ForeignFlashTest, CellsAreReadOfTheLevelThatIsAskedForAndOfTheFinest) {
  const auto file = io::open_snapshot_file(path_);
  const mesh::Box fine = file->description().state.levels[1].domain();
  mesh::Field<double> coarse(mesh::split(mesh::domain_of({8, 4, 1}), {1, comm_.size(), 1}), comm_.rank()),
      covering(mesh::split(fine, {comm_.size(), 1, 1}), comm_.rank());

  file->read_field("density", coarse);
  file->read_covering("density", covering, 1);

  for (int b = 0; b < coarse.blocks(); ++b)
    core::for_each_cell(coarse.box(b), [&](int k, int j, int i) {
      EXPECT_EQ(coarse.view(b)(k, j, i), density_at(2.0 * (i + 0.5), 2.0 * (j + 0.5)));
    });
  for (int b = 0; b < covering.blocks(); ++b)
    core::for_each_cell(covering.box(b), [&](int k, int j, int i) {
      const bool is_refined = i < 8 && j < 4;
      const double x = is_refined ? i + 0.5 : 2 * (i / 2) + 1.0, y = is_refined ? j + 0.5 : 2 * (j / 2) + 1.0;
      EXPECT_EQ(covering.view(b)(k, j, i), density_at(x, y));
    });
}

TEST_P(ForeignFlashTest, ParticlesAreCountedFromTheCornerOfTheDomain) {
  const auto file = io::open_snapshot_file(path_);

  const mesh::Particles all = file->read_particles();

  EXPECT_THAT(all.id, testing::ElementsAre(7, 8, 9));
  EXPECT_THAT(all.position[0], testing::ElementsAre(1.0, 15.0, 3.0));
  EXPECT_THAT(all.position[2], testing::ElementsAre(0.0, 0.0, 0.0));
  EXPECT_THAT(all.attribute("xvel"), testing::ElementsAre(3.5, -2.5, 0.5));
  EXPECT_EQ(comm_.sum(static_cast<std::int64_t>(file->read_particles(comm_.rank(), comm_.size()).size())), 3);
}

// Particles with a position, a tag from 7 on, a type and a mass.
void put_typed_particles(const std::string& path, const std::vector<double>& types) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), name = text_type(24);
  for (const char* table : {"particle names", "tracer particles"}) H5Ldelete(file, table, H5P_DEFAULT);
  const std::string names = padded("posx", 24) + padded("tag", 24) + padded("type", 24) + padded("mass", 24);
  put<2>(file, "particle names", name, {4, 1}, names.data());
  std::vector<double> rows;
  for (std::size_t p = 0; p < types.size(); ++p)
    rows.insert(rows.end(), {0.5 * static_cast<double>(p % 16), 7.0 + static_cast<double>(p), types[p],
                             static_cast<double>(p) + 0.5});
  put<2>(file, "tracer particles", H5T_NATIVE_DOUBLE, {types.size(), 4}, rows.data());
  H5Tclose(name);
  H5Fclose(file);
}

TEST_P(ForeignFlashTest, SeveralTypesOfParticlesAreSpecies) {
  if (comm_.rank() == 0) put_typed_particles(path_, {2.0, 1.0, 2.0});
  comm_.barrier();

  const auto file = io::open_snapshot_file(path_);

  const std::vector<io::FileSpecies> species = io::species_in(file->description());
  ASSERT_EQ(species.size(), 2U);
  EXPECT_EQ(species[0].name, "type_1");
  EXPECT_EQ(species[1].numbers, std::vector<std::string>{"mass"});
  EXPECT_THAT(file->read_particles().id, testing::ElementsAre(8));
  EXPECT_THAT(file->read_particles(0, 1, "type_2").id, testing::ElementsAre(7, 9));
  EXPECT_THAT(file->read_particles(0, 1, "type_2").attribute("mass"), testing::ElementsAre(0.5, 2.5));
}

TEST_P(ForeignFlashTest, TypesThatAreNoFewWholeNumbersAreNumbersOfParticles) {
  std::vector<double> thousands(3000);
  std::iota(thousands.begin(), thousands.end(), 0.0);
  for (const std::vector<double>& types : {std::vector{1.0, 0.5, 2.0}, thousands}) {
    if (comm_.rank() == 0) put_typed_particles(path_, types);
    comm_.barrier();

    {
      const auto file = io::open_snapshot_file(path_);
      EXPECT_EQ(io::species_in(file->description()).size(), 1U);
      EXPECT_EQ(file->read_particles().attribute("type"), types);
    }
    comm_.barrier();  // before it is written to again
  }
}

TEST_P(ForeignFlashTest, ATypeThatIsNoNumberIsRefused) {
  if (comm_.rank() == 0) put_typed_particles(path_, {1.0, std::numeric_limits<double>::quiet_NaN(), 2.0});
  comm_.barrier();

  EXPECT_THROW(io::open_snapshot_file(path_), core::Error);
}

// What is refused, of a file in which a table has other numbers.
class ImpossibleFlashTest : public ForeignFlashTest {
 protected:
  template <std::size_t n, typename T>
  void put_anew(const char* name, hid_t type, const std::array<hsize_t, n>& shape, const std::vector<T>& values) {
    if (comm_.rank() == 0) {
      const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
      H5Ldelete(file, name, H5P_DEFAULT);
      put<n>(file, name, type, shape, values.data());
      H5Fclose(file);
    }
    comm_.barrier();
  }
  void put_reals(const char* name, const std::vector<std::pair<std::string, double>>& pairs) {
    if (comm_.rank() == 0) {
      const hid_t file = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
      H5Ldelete(file, name, H5P_DEFAULT);
      put_pairs<double>(file, name, H5T_NATIVE_DOUBLE, pairs);
      H5Fclose(file);
    }
    comm_.barrier();
  }
  void expect_refused(const char* what, const char* where) {
    try {
      io::open_snapshot_file(path_)->verify();
      ADD_FAILURE() << what;
    } catch (const core::Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr(what));
      EXPECT_THAT(error.where(), testing::AllOf(testing::HasSubstr(path_), testing::HasSubstr(where)));
    }
    comm_.barrier();
  }
};

TEST_P(ImpossibleFlashTest, NumbersThatCannotBeAreRefusedWithTheirEntry) {
  put_reals("real scalars", {{"time", std::numeric_limits<double>::quiet_NaN()}});
  expect_refused("the time is nan", "real scalars: time");
  put_reals("real scalars", {{"time", 1.0}, {"scalefactor", 1e9}});
  expect_refused("the scale factor is 1000000000", "scalefactor");
  put_reals("real scalars", {{"time", 1.0}});
  put_reals("real runtime parameters", {{"xmin", lower}, {"xmax", lower + 16.0}, {"gamma", -1.4}});
  expect_refused("the adiabatic index is -1.4", "gamma");
  put_reals("real runtime parameters", {{"xmin", lower}, {"xmax", lower}});
  expect_refused("the domain has no extent", "real runtime parameters");
}

// Texts in place of numbers tell that they were not read.
TEST_P(ImpossibleFlashTest, ArraysOfOtherLengthsAreRefusedBeforeAnyIsRead) {
  const std::string texts(1000, 'x');
  const std::vector<char> values(texts.begin(), texts.end());
  put_anew<4>("dens", H5T_C_S1, {1000, 1, 1, 1}, values);
  expect_refused("the array has 1000 rows, the file 8 blocks", "dens");
  put_anew<1>("refine level", H5T_C_S1, {1000}, values);
  expect_refused("the corners of the blocks are not as many as the blocks", "bounding box");
  put_anew<2>("refine level", H5T_C_S1, {8, 125}, values);
  expect_refused("the blocks have no list of levels", "refine level");
}

TEST_P(ImpossibleFlashTest, ANegativeDensityIsRefusedWithItsCell) {
  std::vector<float> cells(8 * ny * nx, 1.0F);
  cells[3] = -0.5F;
  put_anew<4>("dens", H5T_NATIVE_FLOAT, {8, 1, ny, nx}, cells);
  expect_refused("`density` is -0.5", "level 0, cell (3, 0, 0)");
  cells[3] = std::numeric_limits<float>::infinity();
  put_anew<4>("dens", H5T_NATIVE_FLOAT, {8, 1, ny, nx}, cells);
  expect_refused("`density` is inf", "level 0, cell (3, 0, 0)");
}

TEST_P(ImpossibleFlashTest, ParticlesThatAreNowhereAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  put_anew<2>("tracer particles", H5T_NATIVE_DOUBLE, {1, 4}, std::vector<double>{nan, 1.0, 7.0, 3.5});
  expect_refused("the place along x of a particle is nan", "the id 7");
  put_anew<2>("tracer particles", H5T_NATIVE_DOUBLE, {1, 4}, std::vector<double>{1.0, 1.0, nan, 3.5});
  expect_refused("the tag of a particle is nan", "tracer particles");
}

// Not opened, and so not waited for either: the other file may be a pipe, or whatever else the user can read.
TEST_P(ImpossibleFlashTest, WhatLiesInOtherFilesIsNotFollowed) {
  const std::string other = folder_ / "other.h5";
  if (comm_.rank() == 0) {
    const hid_t file = H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    put<4>(file, "dens", H5T_NATIVE_FLOAT, {8, 1, ny, nx}, std::vector<float>(8 * ny * nx, 1.0F).data());
    H5Fclose(file);
    const hid_t own = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(own, "dens", H5P_DEFAULT);
    H5Lcreate_external(other.c_str(), "/dens", own, "dens", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(own);
  }
  comm_.barrier();
  expect_refused("a link leads to another file", "dens");
  if (comm_.rank() == 0) {
    const hid_t own = H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), list = H5Pcreate(H5P_DATASET_CREATE);
    H5Ldelete(own, "dens", H5P_DEFAULT);
    H5Pset_external(list, "/etc/passwd", 0, 8 * ny * nx * sizeof(float));
    const std::array<hsize_t, 4> shape{8, 1, ny, nx};
    const hid_t space = H5Screate_simple(4, shape.data(), nullptr),
                dataset = H5Dcreate2(own, "dens", H5T_NATIVE_FLOAT, space, H5P_DEFAULT, list, H5P_DEFAULT);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    H5Fclose(own);
  }
  comm_.barrier();
  expect_refused("the values lie in other files", "dens");
}

INSTANTIATE_TEST_SUITE_P(Flash, ImpossibleFlashTest, testing::Values(8, 9));
INSTANTIATE_TEST_SUITE_P(Flash, ForeignFlashTest, testing::Values(8, 9));

}  // namespace
}  // namespace sidestream
