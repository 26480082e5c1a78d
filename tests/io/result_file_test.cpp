#include "sidestream/io/result_file.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstring>
#include <limits>
#include <thread>

#include "file_size_limit.hpp"
#include "io/disk/commit_record.hpp"
#include "sidestream/core/error.hpp"
#include "temporary_folder.hpp"

namespace sidestream {
namespace {

class ResultFileTest : public testing::Test {
 protected:
  // Everything a result may hold: integers, doubles with a NaN, coordinates, two dimensions, a single number, a column
  // that has the name of a dimension by chance, text beyond ASCII.
  static mesh::Result everything() {
    mesh::Result result;
    result.add<std::int64_t>("id", "", "number of the halo", {"halo"}, {3}, {1, std::int64_t{1} << 60, -3});
    result.add<double>("mass", "Msun", "mass – with dash", {"halo"}, {3},
                       {1e10, 0.1, std::numeric_limits<double>::quiet_NaN()});
    result.add<double>("k", "h/Mpc", "wavenumber", {"k"}, {2}, {0.1, 0.2});
    result.add<double>("power", "(Mpc/h)^3", "", {"k", "mu"}, {2, 2}, {1, 2, 3, 4});
    result.add<double>("mu", "", "", {"k", "mu"}, {2, 2}, {5, 6, 7, 8});
    result.add<double>("mean", "K", "", {}, {}, {7.5});
    result.attributes = {{"step", std::int64_t{12}}, {"redshift", 2.5}, {"unit", "Mpc³"}, {"empty", ""}};
    result.summary = "3 halos";
    return result;
  }

  comm::Communicator comm_{MPI_COMM_SELF};
  test::TemporaryFolder folder_{comm_};
};

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}
bool same_bits(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return a == b;
}

void expect_same(const mesh::Result& a, const mesh::Result& b) {
  EXPECT_EQ(a.dimensions, b.dimensions);
  EXPECT_EQ(a.attributes, b.attributes);
  EXPECT_EQ(a.summary, b.summary);
  ASSERT_EQ(a.columns.size(), b.columns.size());
  for (const mesh::Column& column : a.columns) {
    const mesh::Column& other = b.column(column.name);
    EXPECT_EQ(column.unit, other.unit);
    EXPECT_EQ(column.description, other.description);
    EXPECT_EQ(column.dimensions, other.dimensions) << column.name;
    std::visit(
        [&](const auto& values) {
          const auto* same_type = std::get_if<std::decay_t<decltype(values)>>(&other.values);
          ASSERT_NE(same_type, nullptr) << column.name;
          EXPECT_TRUE(same_bits(values, *same_type)) << column.name;
        },
        column.values);
  }
}

TEST_F(ResultFileTest, ComesBackBitForBit) {
  io::write_result(folder_ / "results/halos/00012.nc", everything());

  expect_same(io::read_result(folder_ / "results/halos/00012.nc"), everything());
}

TEST_F(ResultFileTest, AnEmptyCatalogueKeepsItsColumns) {
  mesh::Result none;
  none.add<std::int64_t>("id", "", "number of the halo", {"halo"}, {0}, {});
  none.add<double>("mass", "Msun", "mass", {"halo"}, {0}, {});

  io::write_result(folder_ / "a.nc", none);

  expect_same(io::read_result(folder_ / "a.nc"), none);
}

TEST_F(ResultFileTest, ExtraAttributesJoinAndWin) {
  io::write_result(folder_ / "a.nc", everything(), {{"task", "halos"}, {"redshift", 3.0}});

  const auto attributes = io::read_result(folder_ / "a.nc").attributes;
  EXPECT_EQ(std::get<std::string>(attributes.at("task")), "halos");
  EXPECT_EQ(std::get<double>(attributes.at("redshift")), 3.0);
  EXPECT_EQ(std::get<std::int64_t>(attributes.at("step")), 12);
}

TEST_F(ResultFileTest, TheSameResultMakesTheSameBytesAtAnyTime) {
  io::write_result(folder_ / "a.nc", everything());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // HDF5 would keep times in seconds
  io::write_result(folder_ / "b.nc", everything());

  EXPECT_TRUE(test::content_of(folder_ / "a.nc") == test::content_of(folder_ / "b.nc"));
}

// What netCDF-4 readers ask of a file: dimension scales with ids, attached in the order of the axes, and creation order
// kept.
TEST_F(ResultFileTest, FollowsTheConventionsOfNetcdf) {
  io::write_result(folder_ / "a.nc", everything());

  const hid_t file = H5Fopen((folder_ / "a.nc").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  const hid_t root = H5Gopen2(file, "/", H5P_DEFAULT), creation = H5Gget_create_plist(root);
  unsigned order = 0;
  H5Pget_link_creation_order(creation, &order);
  EXPECT_EQ(order, unsigned{H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED});
  for (const char* scale : {"halo", "k", "mu"}) {
    EXPECT_GT(H5Aexists_by_name(file, scale, "CLASS", H5P_DEFAULT), 0) << scale;
    EXPECT_GT(H5Aexists_by_name(file, scale, "_Netcdf4Dimid", H5P_DEFAULT), 0) << scale;
  }
  EXPECT_GT(H5Aexists_by_name(file, "power", "DIMENSION_LIST", H5P_DEFAULT), 0);
  EXPECT_GT(H5Aexists_by_name(file, "mass", "units", H5P_DEFAULT), 0);
  EXPECT_GT(H5Lexists(file, "_nc4_non_coord_mu", H5P_DEFAULT), 0);
  H5Pclose(creation);
  H5Gclose(root);
  H5Fclose(file);
}

TEST_F(ResultFileTest, ADiskThatFillsUpLeavesTheEarlierResult) {
  io::write_result(folder_ / "a.nc", everything());
  mesh::Result large;
  large.add<double>("x", "", "", {"n"}, {100000}, std::vector<double>(100000, 1.0));

  {
    const test::FileSizeLimit limit(50000);
    EXPECT_THROW(io::write_result(folder_ / "a.nc", large), core::Error);
  }

  expect_same(io::read_result(folder_ / "a.nc"), everything());
  EXPECT_EQ(test::entries_of(folder_.path()), 1);
}

TEST_F(ResultFileTest, WhatIsNoResultIsAnErrorThatNamesTheFileAndPrintsNothing) {
  io::write_result(folder_ / "good.nc", everything());
  const std::string good = test::content_of(folder_ / "good.nc");
  test::overwrite(folder_ / "text.nc", "hello");
  test::overwrite(folder_ / "empty.nc", "");
  test::overwrite(folder_ / "cut.nc", good.substr(0, good.size() / 2));
  testing::internal::CaptureStderr();

  for (const char* name : {"text.nc", "empty.nc", "cut.nc", "missing.nc"}) {
    try {
      io::read_result(folder_ / name);
      ADD_FAILURE() << name;
    } catch (const core::Error& error) {
      EXPECT_EQ(error.where(), folder_ / name);
    }
  }

  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(ResultFileTest, AnyByteThatIsAnotherIsRefusedByName) {
  const std::string path = folder_ / "a.nc";
  io::write_result(path, everything());
  const std::string good = test::content_of(path);

  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    test::overwrite(path, damaged);
    try {
      io::read_result(path);
      ADD_FAILURE() << "byte " << at << " of " << good.size();
    } catch (const core::Error& error) {
      EXPECT_EQ(error.where(), path);
    }
  }
}

TEST_F(ResultFileTest, OneThatWasCutAtItsRecordIsRefused) {
  const std::string path = folder_ / "a.nc";
  io::write_result(path, everything());
  const std::string good = test::content_of(path);
  test::overwrite(path, good.substr(0, good.size() - static_cast<std::size_t>(io::record_bytes(0))));

  EXPECT_THROW(io::has_right_record(path), core::Error);
  try {
    io::read_result(path);
    ADD_FAILURE();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.where(), path);
    EXPECT_NE(error.hint().find("_NCProperties"), std::string::npos);  // what somebody deletes who has changed the file
  }
}

TEST_F(ResultFileTest, ThoseOfEarlierVersionsHaveNoRecord) {
  const std::string path = folder_ / "a.nc";
  io::write_result(path, everything());
  EXPECT_TRUE(io::has_right_record(path));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Adelete(file, "_NCProperties");
  H5Fclose(file);  // without what is behind the end of the HDF5 file

  EXPECT_FALSE(io::has_right_record(path));
  expect_same(io::read_result(path), everything());
}

TEST_F(ResultFileTest, AColumnThatDoesNotFitItsDimensionsIsRefused) {
  mesh::Result bad = everything();
  bad.columns[0].values = std::vector<double>(2);

  EXPECT_THROW(io::write_result(folder_ / "a.nc", bad), core::Error);
  EXPECT_EQ(test::entries_of(folder_.path()), 0);
}

}  // namespace
}  // namespace sidestream
