// Pictures as files: the same bytes on any ranks, whatever they share; nothing is left of one that failed.
#include "sidestream/io/picture_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "io/pictures/pixels.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "temporary_folder.hpp"

namespace sidestream::io {
namespace {

using mesh::Box;
namespace fs = std::filesystem;

std::int32_t pixel_at(int row, int column) {
  const auto red = static_cast<std::uint32_t>(row / 16) % 251u, green = static_cast<std::uint32_t>(column / 9) % 241u;
  return static_cast<std::int32_t>(red | green << 8 | (row + column) % 64u << 16 | (row % 7 == 0 ? 0u : 0xff000000u));
}

// A picture of which `largest` is the most pixels that anybody has asked for at a time.
mesh::Picture picture_of(std::int32_t columns, std::int32_t rows, int rank, std::int64_t& largest) {
  mesh::Picture picture{"a", columns, rows, false, true, true, true, 300, 7, 0.5};
  picture.paint = [rank, &largest](const mesh::Layout& parts) {
    mesh::Pixels pixels(parts, rank);
    for (int b = 0; b < pixels.blocks(); ++b)
      core::for_each_cell(pixels.box(b),
                          [view = pixels.view(b)](int k, int j, int i) { view(k, j, i) = pixel_at(j, i); });
    largest = std::max(largest, std::ssize(pixels.all()));
    return pixels;
  };
  return picture;
}

std::map<std::string, std::string> files_in(const std::string& folder) {
  std::map<std::string, std::string> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    all[fs::relative(entry.path(), folder).string()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return all;
}

class PictureFiles : public testing::Test {
 protected:
  comm::Communicator world_{MPI_COMM_WORLD}, self_{MPI_COMM_SELF};
  test::TemporaryFolder folder_{world_};
};

TEST_F(PictureFiles, HaveTheSameBytesOnAnyRanks) {
  struct Size {
    std::int32_t columns, rows;
  };
  std::int64_t ignored = 0;
  for (const Size size : {Size{1, 1}, Size{700, 3}, Size{600, 1100}, Size{3, 2600}}) {
    const std::string alone = folder_ / "alone/00007.nc", together = folder_ / "together/00007.nc";
    if (world_.rank() == 0) {
      write_pictures(self_, picture_of(size.columns, size.rows, 0, ignored), alone);
      keep_pictures(alone);
    }
    for (const bool in_rectangles : {true, false}) {
      mesh::Picture picture = picture_of(size.columns, size.rows, world_.rank(), ignored);
      picture.in_rectangles = in_rectangles;

      write_pictures(world_, picture, together);

      if (world_.rank() == 0) {
        keep_pictures(together);
        const auto expected = files_in(pictures_path(alone)), found = files_in(pictures_path(together));
        EXPECT_GT(expected.size(), 4u);
        EXPECT_TRUE(expected == found) << size.columns << " x " << size.rows << ": " << found.size() << " files";
      }
      world_.barrier();
    }
  }
}

TEST_F(PictureFiles, ArePaintedARowOfTilesAtATime) {
  std::int64_t largest = 0;
  const std::int32_t columns = 512, rows = 2300;
  for (const bool in_rectangles : {true, false}) {
    mesh::Picture picture = picture_of(columns, rows, world_.rank(), largest);
    picture.in_rectangles = in_rectangles;

    write_pictures(world_, picture, folder_ / "00001.nc");
  }

  EXPECT_GT(largest, 0);
  EXPECT_LE(largest, std::int64_t{tile_side} * columns);
}

TEST_F(PictureFiles, HalvePixelsByTheMeanOfThoseThatShow) {
  const mesh::Layout layout(mesh::domain_of({3, 2, 1}), {}, {mesh::domain_of({3, 2, 1})}, {0});
  mesh::Pixels pixels(layout, 0);
  const auto set = [&](int row, int column, std::uint32_t pixel) {
    pixels.view(0)(0, row, column) = static_cast<std::int32_t>(pixel);
  };
  set(0, 0, 0xff0000ff), set(0, 1, 0xff0000fe), set(1, 0, 0xff000000), set(1, 1, 0x00ffffff);
  set(0, 2, 0xff00ff00), set(1, 2, 0xff000000);

  const mesh::Pixels half = halved(pixels);

  EXPECT_EQ(half.layout().domain(), mesh::domain_of({2, 1, 1}));
  EXPECT_EQ(static_cast<std::uint32_t>(half.view(0)(0, 0, 0)), 0xbf0000aau);  // 509 / 3, 3 of 4 opaque
  EXPECT_EQ(static_cast<std::uint32_t>(half.view(0)(0, 0, 1)), 0xff008000u);
}

TEST_F(PictureFiles, LeaveNothingWhereTheyFail) {
  std::int64_t ignored = 0;
  mesh::Picture picture = picture_of(600, 900, world_.rank(), ignored);
  const auto paint = picture.paint;
  int calls = 0;
  picture.paint = [&](const mesh::Layout& parts) {
    world_.agree(++calls == 3 && world_.rank() == world_.size() - 1 ? "no paint is left" : "");
    return paint(parts);
  };

  EXPECT_THROW(write_pictures(world_, picture, folder_ / "task/00007.nc"), core::Error);

  world_.barrier();
  EXPECT_TRUE(files_in(folder_ / "task").empty());
}

}  // namespace
}  // namespace sidestream::io
