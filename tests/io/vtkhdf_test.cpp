// What is particular to VTKHDF files; tests/python reads them with VTK.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format_fixture.hpp"
#include "io/containers/hdf5/hdf5_arrays.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream {
namespace {

using test::Deal;
using test::SampleState;
using testing::HasSubstr;

class VtkhdfTest : public test::FormatTest {
 protected:
  const io::Format& format() const override { return io::formats().named("vtkhdf"); }
};

TEST_F(VtkhdfTest, HasAGroupForEachLevelWithBoxesAndCells) {
  const SampleState state(comm_, 3);
  const std::string path = write(state.plotfile(), "plt00007.vtkhdf");

  const io::Hdf5Reader file(path);

  EXPECT_EQ(file.names("VTKHDF"), (std::vector<std::string>{"Level0", "Level1", "Level2"}));
  EXPECT_EQ(file.names("VTKHDF/Level1"), (std::vector<std::string>{"AMRBox", "CellData", "FieldData", "PointData"}));
  EXPECT_EQ(file.names("VTKHDF/Level2/CellData"), (std::vector<std::string>{"density", "xmom"}));
  const std::vector<mesh::Layout> layouts = SampleState::layouts(3);
  for (std::size_t level = 0; level < 3; ++level) {
    const std::string group = "VTKHDF/Level" + std::to_string(level);
    EXPECT_EQ(file.shape(group + "/CellData/density"), (std::vector<std::int64_t>{layouts[level].size() * 64}));
    const mesh::Box box = layouts[level].box(1);
    const std::vector<std::int64_t> boxes = file.integers(group + "/AMRBox");
    EXPECT_EQ(std::vector<std::int64_t>(boxes.begin() + 6, boxes.begin() + 12),
              (std::vector<std::int64_t>{box.lo.x, box.hi.x - 1, box.lo.y, box.hi.y - 1, box.lo.z, box.hi.z - 1}));
  }
}

TEST_F(VtkhdfTest, EveryMethodWritesTheSameNumbers) {
  const SampleState state(comm_, 3);
  for (const std::string& method : format().methods) {
    io::WriteOptions options;
    options.method = method;
    const auto file = format().open(write(state.checkpoint(), "plt00007.vtkhdf", options));
    test::expect_sample_checkpoint(comm_, *file, 3);
    comm_.barrier();
  }
}

TEST_F(VtkhdfTest, FlatMeshesComeBack) {
  const mesh::Geometry geometry{mesh::domain_of({8, 6, 1}), {4.0, 3.0, 1.0}, {true, true, true}};
  std::vector<mesh::Field<double>> fields;
  test::FileState content;
  content.state.geometry = geometry;
  std::vector<mesh::Layout> levels;
  for (int level = 0; level < 2; ++level) {
    const mesh::Box domain = geometry.refined(level).domain;
    const mesh::Layout layout(domain, {true, true, true}, {{domain.lo, {8, domain.hi.y, 1}}}, {comm_.size() - 1},
                              level);
    levels.push_back(layout);
    fields.emplace_back(layout, comm_.rank());
    for (int b = 0; b < fields.back().blocks(); ++b)
      core::for_each_cell(fields.back().box(b), [&](int k, int j, int i) {
        fields.back().view(b)(k, j, i) = SampleState::value(domain, level, {i, j, k}, 0);
      });
  }
  test::set_levels(content.state, levels, comm_.rank());
  test::add(content, "a/b", "", {fields[0], fields[1]});

  const auto file = format().open(write(content, "plt00001.vtkhdf"));

  EXPECT_EQ(file->description().ratios[1], (mesh::Int3{2, 2, 1}));
  for (int level = 0; level < 2; ++level) {
    mesh::Field<double> read(levels[static_cast<std::size_t>(level)], comm_.rank());
    file->read_field("a/b", read, level);
    EXPECT_EQ(test::cells_off_sample(read, 0), 0);
  }
}

TEST_F(VtkhdfTest, ADamagedBoxIsNamed) {
  const std::string path = write(SampleState(comm_, 2).plotfile(), "plt00007.vtkhdf");
  if (comm_.rank() != 0) return;
  std::string bytes = test::content_of(path);
  std::size_t place = 0;
  {
    const io::Hdf5Reader file(path);
    const io::DatasetHandle cells(H5Dopen2(file.file(), "VTKHDF/Level1/CellData/xmom", H5P_DEFAULT), "H5Dopen2");
    place = static_cast<std::size_t>(H5Dget_offset(cells)) + 3 * 64 * sizeof(float);
  }
  bytes[place] ^= 1;
  test::overwrite(path, bytes);

  try {
    format().open(path)->verify();
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("box 3"));
    EXPECT_THAT(error.where(), HasSubstr("Level1/CellData/xmom"));
  }
}

// --- files of others: made here by hand

class ForeignVtkhdfTest : public VtkhdfTest {
 protected:
  ForeignVtkhdfTest() {
    const io::FileHandle file = io::create_hdf5_file(path_);
    put_group(file, "VTKHDF", "Origin", {1.0, 2.0, 3.0});
    put_text(file, "VTKHDF", "Type", "OverlappingAMR");
    put_group(file, "VTKHDF/Level0", "Spacing", {0.5, 0.5, 0.5});
    put_group(file, "VTKHDF/Level1", "Spacing", {0.25, 0.25, 0.25});
    put_level(file, "VTKHDF/Level0", {-2, 1, 0, 3, 0, 3});
    put_level(file, "VTKHDF/Level1", {-4, -1, 2, 5, 0, 3});
  }
  static void put_group(hid_t file, const char* name, const char* attribute, std::array<double, 3> values) {
    const io::ObjectHandle group(H5Gcreate2(file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "H5Gcreate2");
    const hsize_t three = 3;
    const io::SpaceHandle space(H5Screate_simple(1, &three, nullptr), "H5Screate_simple");
    const io::AttributeHandle open(H5Acreate2(group, attribute, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT),
                                   "H5Acreate2");
    H5Awrite(open, H5T_NATIVE_DOUBLE, values.data());
  }
  static void put_text(hid_t file, const char* group, const char* name, const std::string& text) {
    const io::ObjectHandle object(H5Oopen(file, group, H5P_DEFAULT), "H5Oopen");
    io::put_text_attribute(object, name, text);
  }
  static void put_level(hid_t file, const std::string& group, const std::vector<std::int32_t>& box) {
    io::put_dataset(file, group + "/AMRBox", H5T_NATIVE_INT32, {1, 6}, box.data());
    std::vector<double> values;
    for (int i = 0; i < 64; ++i) values.push_back(i + 0.5);
    io::put_dataset(file, group + "/CellData/rho", H5T_NATIVE_DOUBLE, {64}, values.data());
  }

  std::string path_ = folder_ / ("mine" + std::to_string(comm_.rank()) + ".vtkhdf");
};

TEST_F(ForeignVtkhdfTest, IsReadFromItsLowestCorner) {
  const auto file = io::open_snapshot_file(path_);
  const io::FileDescription& found = file->description();
  mesh::Field<double> fine(mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, 1}), 0);
  file->read_covering("rho", fine, 1);

  EXPECT_EQ(found.format, "vtkhdf");
  EXPECT_EQ(found.state.geometry.domain, mesh::domain_of({4, 4, 4}));
  EXPECT_EQ(found.state.geometry.length[0], 2.0);
  EXPECT_EQ(found.origin, (std::array<double, 3>{0.0, 2.0, 3.0}));
  EXPECT_EQ(found.state.levels[1].box(0), (mesh::Box{{0, 2, 0}, {4, 6, 4}}));
  EXPECT_EQ(fine.view(0)(0, 2, 1), 1.5) << "from the fine box";
  EXPECT_EQ(fine.view(0)(7, 7, 7), 63.5) << "from the coarse box";
  EXPECT_FALSE(found.has_particles);
}

TEST_F(ForeignVtkhdfTest, ADamagedListOfBoxesIsRefused) {
  for (const std::vector<std::int32_t>& box : std::vector<std::vector<std::int32_t>>{
           {0, 3, 0, 3, 3, 0}, {0, 3, 0, 3, 0, 4}, {0, 2000000000, 0, 3, 0, 3}, {90, 93, 0, 3, 0, 3}}) {
    {
      const io::FileHandle file(H5Fopen(path_.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), "H5Fopen");
      const io::DatasetHandle open(H5Dopen2(file, "VTKHDF/Level1/AMRBox", H5P_DEFAULT), "H5Dopen2");
      H5Dwrite(open, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, box.data());
    }
    EXPECT_THROW(io::open_snapshot_file(path_), core::Error);
  }
}

}  // namespace
}  // namespace sidestream
