// Pictures of any size: which pixel has which colour, whoever paints it, and the limits of the colours.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "analysis/display/colouring.hpp"
#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/painter.hpp"
#include "sidestream/mesh/picture.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Box;
using mesh::Int3;
using test::Grid;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();

std::string task(const std::string& more) {
  return "analysis = 'display'\nquantity = 'a'\n" + more;
}

mesh::Snapshot snapshot_of(const Grid& grid, const mesh::Layout& layout, int rank) {
  mesh::Snapshot snapshot;
  snapshot.geometry = test::unit_cells(grid.cells, periodic);
  snapshot.levels = {layout};
  snapshot.rank = rank;
  snapshot.add({"a", "K"}, grid.on(layout, rank));
  return snapshot;
}

std::shared_ptr<const mesh::Picture> picture_of(const Analysis& display, const comm::Communicator& comm,
                                                const mesh::Snapshot& snapshot) {
  return dynamic_cast<const Painter&>(display).picture(comm, snapshot, display.run(comm, snapshot));
}

// All pixels of a picture, painted in `parts`, on rank 0.
std::vector<std::int64_t> painted(const comm::Communicator& comm, const mesh::Picture& picture, Int3 parts) {
  const mesh::Layout layout = mesh::split(picture.pixels(), parts);
  const mesh::Pixels pixels = picture.paint(layout);
  std::vector<std::int64_t> all(static_cast<std::size_t>(picture.pixels().volume()));
  for (int b = 0; b < pixels.blocks(); ++b)
    core::for_each_cell(pixels.box(b), [&, view = pixels.view(b)](int k, int j, int i) {
      all[static_cast<std::size_t>(linear_index(picture.pixels(), {i, j, k}))] = view(k, j, i);
    });
  comm.sum(std::span<std::int64_t>(all));
  return all;
}

Colouring grays(Limits limits, Scale scale = Scale::linear) {
  return {colour_map("gray", ""), limits, scale};
}

TEST(Display, HasTheColoursOfMatplotlibAndGoesBeyondItsLimitsAsThatDoes) {
  const Colouring linear = grays({0.0, 1.0}), log = grays({1.0, 100.0}, Scale::log), flat = grays({3.0, 3.0});
  const auto gray = [](std::uint32_t level) { return static_cast<std::int32_t>(0xff000000u | level * 0x10101u); };

  EXPECT_EQ(linear.pixel(0.0), gray(0));
  EXPECT_EQ(linear.pixel(0.5), gray(128));
  EXPECT_EQ(linear.pixel(std::nextafter(0.5, 0.0)), gray(127));
  for (const double high : {1.0, 1.5, 1e300, inf}) EXPECT_EQ(linear.pixel(high), gray(255)) << high;
  for (const double low : {-1e-300, -7.0, -inf}) EXPECT_EQ(linear.pixel(low), gray(0)) << low;
  EXPECT_EQ(linear.pixel(nan), 0);
  EXPECT_EQ(log.pixel(10.0), gray(128));
  for (const double bad : {0.0, -1.0, -inf, nan}) EXPECT_EQ(log.pixel(bad), 0) << bad;
  EXPECT_EQ(flat.pixel(3.0), gray(0));
  EXPECT_EQ(colour_map("viridis", "").front(), 0xff540144u);
  EXPECT_EQ(colour_map("tab10", "").size(), 10u);
  EXPECT_GT(colour_map_names().size(), 150u);
}

TEST(Display, ShowsEachCellOfAPlaneWhoeverPaintsIt) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{13, 70, 9};
  const Grid grid = test::random_field(cells, 5);
  for (const std::string axis : {"x", "y", "z"}) {
    const int across = axis[0] - 'x', h = across == 0 ? 1 : 0, v = across == 2 ? 1 : 2;
    const auto depth = static_cast<std::int32_t>(0.3 * cells[across]);
    std::vector<std::int64_t> expected;
    for (std::int32_t row = cells[v] - 1; row >= 0; --row)
      for (std::int32_t column = 0; column < cells[h]; ++column) {
        Int3 cell;
        cell[across] = depth, cell[h] = column, cell[v] = row;
        expected.push_back(grays({0.1, 0.8}).pixel(grid(cell.z, cell.y, cell.x)));
      }
    const auto layout = test::random_layout(cells, periodic, world.size(), 11, 2);
    const mesh::Snapshot snapshot = snapshot_of(grid, layout, world.rank());

    const auto display =
        test::analysis_of(task("colormap = 'gray'\nlimits = [0.1, 0.8]\nposition = 0.3\naxis = '" + axis + "'"));
    const auto picture = picture_of(*display, world, snapshot);

    ASSERT_EQ(picture->columns, cells[h]);
    ASSERT_EQ(picture->rows, cells[v]);
    for (const Int3 parts : {Int3{world.size(), 1, 1}, Int3{1, world.size(), 1}})
      EXPECT_EQ(painted(world, *picture, parts), expected) << axis;
  }
}

TEST(Display, PaintsLargerCellsAsManyPixels) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (const Int3 cells : {Int3{16, 8, 8}, Int3{16, 16, 1}}) {
    const auto mesh = test::random_mesh(cells, 4, 2, periodic, world.size(), 7);
    ASSERT_EQ(mesh.finest_level(), 2);
    const auto value = [&](int level, Int3 cell) {
      return 0.01 * static_cast<double>(linear_index(mesh.levels[static_cast<std::size_t>(level)].domain(), cell) % 97);
    };
    mesh::Snapshot snapshot;
    snapshot.geometry = mesh.geometry;
    snapshot.levels = mesh.levels;
    snapshot.rank = world.rank();
    snapshot.add({"a", "K"}, test::leaves_of(mesh, world.rank(), value));
    const Int3 n = mesh.finest_cells();
    std::vector<std::int64_t> expected;
    const std::int32_t depth = n.z / 2;
    for (std::int32_t row = n.y - 1; row >= 0; --row)
      for (std::int32_t column = 0; column < n.x; ++column)
        for (int level = 0; level <= 2; ++level) {
          const int up = 2 - level;
          const Int3 cell{column >> up, row >> up, n.z == 1 ? 0 : depth >> up};
          if (mesh.levels[static_cast<std::size_t>(level)].find(cell) >= 0)
            expected.push_back(grays({0.0, 0.96}).pixel(value(level, cell)));
        }

    const auto display = test::analysis_of(task("colormap = 'gray'\naxis = 'z'\nlimits = [0.0, 0.96]"));
    const auto picture = picture_of(*display, world, snapshot);

    EXPECT_EQ(painted(world, *picture, {1, world.size(), 1}), expected);
  }
}

TEST(Display, AsksForNoMoreThanItPaints) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{64, 512, 1};
  const mesh::Layout layout = test::random_layout(cells, periodic, world.size(), 1, 0);
  std::vector<Box> blocks;
  for (std::int32_t y = 0; y < cells.y; y += 32) blocks.push_back({{0, y, 0}, {64, y + 32, 1}});
  std::vector<std::int32_t> owners;
  for (std::size_t b = 0; b < blocks.size(); ++b) owners.push_back(static_cast<std::int32_t>(b) % world.size());
  std::int64_t computed = 0;
  mesh::Snapshot snapshot;
  snapshot.geometry = test::unit_cells(cells, periodic);
  snapshot.levels = {mesh::Layout(layout.domain(), periodic, blocks, owners)};
  snapshot.rank = world.rank();
  snapshot.add_computed({"a", "K"}, [&](int, const Box& box, const core::View4<double>& out) {
    computed += box.volume();
    core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = i + j; });
  });
  const auto picture = picture_of(*test::analysis_of(task("")), world, snapshot);
  const mesh::Layout strip(picture->pixels(), {}, {{{0, 0, 0}, {64, 64, 1}}}, {0});
  computed = 0;

  picture->paint(strip);

  EXPECT_EQ(world.sum(computed), 64 * 64);
}

TEST(Display, FollowsTheSmallestAndTheLargestValueSoFar) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout({6, 5, 1}, periodic, world.size(), 4, 9);
  const auto at_step = [&](double low, double high) {
    Grid grid({6, 5, 1}, low);
    grid(0, 2, 3) = high, grid(0, 1, 1) = nan, grid(0, 4, 4) = inf;
    return snapshot_of(grid, layout, world.rank());
  };
  const auto running = test::analysis_of(task("")), fixed = test::analysis_of(task("limits = [0, 2]"));

  const auto first = running->run_after(world, at_step(1.0, 3.0), {});
  const auto second = running->run_after(world, at_step(2.0, 5.0), first);
  const auto third = running->run_after(world, at_step(2.5, 2.6), second);
  const auto told = fixed->run(world, at_step(-1.0, 3.0));

  EXPECT_TRUE(running->looks_back());
  EXPECT_FALSE(fixed->looks_back());
  if (world.rank() != 0) return;
  EXPECT_THAT(test::numbers(first, "limits"), ElementsAre(1.0, 3.0));
  EXPECT_THAT(test::numbers(second, "limits"), ElementsAre(1.0, 5.0));
  EXPECT_THAT(test::numbers(third, "limits"), ElementsAre(1.0, 5.0));
  EXPECT_THAT(test::numbers(third, "extremes"), ElementsAre(2.5, 2.6));
  EXPECT_THAT(test::numbers(told, "limits"), ElementsAre(0.0, 2.0));
  EXPECT_EQ(std::get<std::int64_t>(told.attributes.at("below")), 27);
  EXPECT_EQ(std::get<std::int64_t>(told.attributes.at("above")), 2);
  EXPECT_EQ(std::get<std::int64_t>(told.attributes.at("bad")), 1);
}

TEST(Display, OfNoNumbersIsTransparent) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = snapshot_of(Grid({4, 3, 1}, nan), test::one_box({4, 3, 1}), world.rank());

  const auto display = test::analysis_of(task(""));
  const auto result = display->run(world, snapshot);
  const auto picture = dynamic_cast<const Painter&>(*display).picture(world, snapshot, result);

  EXPECT_FALSE(picture->is_opaque);
  for (const std::int64_t pixel : painted(world, *picture, {1, 1, 1})) EXPECT_EQ(pixel, 0);
  if (world.rank() == 0) {
    EXPECT_TRUE(result.column("limits").has_gaps);
  }
}

TEST(Display, RefusesWhatHasNoPicture) {
  const auto complaint = [](const std::string& more) {
    return test::message_of([&] { test::analysis_of(task(more)); });
  };

  EXPECT_THAT(complaint("colormap = 'virids'"), HasSubstr("did you mean `viridis`"));
  EXPECT_THAT(complaint("limits = [2, 1]"), HasSubstr("is not below the upper one"));
  EXPECT_THAT(complaint("limits = [1, 1]"), HasSubstr("is not below the upper one"));
  EXPECT_THAT(complaint("limits = [1]"), HasSubstr("two numbers"));
  EXPECT_THAT(complaint("limits = [0, 1]\nscale = 'log'"), HasSubstr("has no logarithm"));
  EXPECT_THAT(complaint("pyramid = false\nframe = 0"), HasSubstr("nothing of the picture is written"));
  EXPECT_THAT(complaint("tiles = 'rows'"), HasSubstr("rectangles"));
  EXPECT_THAT(test::message_of([] {
                test::analysis_of(task(""))->check(mesh::domain_of({8, 8, 8}));
              }),
              HasSubstr("say across which `axis`"));
  EXPECT_NO_THROW(test::analysis_of(task(""))->check(mesh::domain_of({8, 1, 8})));
  EXPECT_THAT(test::message_of([] { test::analysis_of("analysis = 'display'"); }), HasSubstr("`quantity` is missing"));
}

}  // namespace
}  // namespace sidestream::analysis
