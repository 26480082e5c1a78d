// Regions where a condition holds: what they are, what becomes of them, and what is kept of the state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "analysis/flood_fill.hpp"
#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/mesh/snapshot.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Box;
using mesh::Int3;
using test::Grid;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr mesh::Periodicity periodic{true, true, true};

std::string task(const std::string& more) {
  return "analysis = 'regions'\n" + more;
}

// A box of cells of side 1 with the quantities `a`, `b`.
mesh::Snapshot snapshot_of(const mesh::Layout& layout, int rank, const Grid& a, const Grid& b, std::int64_t step = 0) {
  mesh::Snapshot snapshot;
  snapshot.geometry = test::unit_cells(layout.domain().extent(), layout.periodic());
  snapshot.levels = {layout};
  snapshot.rank = rank;
  snapshot.moment.step = step;
  snapshot.add({"a", "K"}, a.on(layout, rank));
  snapshot.add({"b", "1"}, b.on(layout, rank));
  return snapshot;
}

// Every column, with the rows of all ranks, on rank 0.
std::map<std::string, std::vector<double>> whole(const comm::Communicator& comm, const mesh::Result& result) {
  std::map<std::string, std::vector<double>> all;
  for (const mesh::Column& column : result.columns) {
    std::vector<double> rows;
    std::visit([&](const auto& values) { rows.assign(values.begin(), values.end()); }, column.values);
    all[column.name] =
        result.distributed.contains(column.dimensions[0]) ? comm.gather(std::span<const double>(rows)) : rows;
  }
  return all;
}

// The boxes of a level with their cells.
using Cells = std::vector<std::pair<Box, std::vector<double>>>;
Cells cells_of(const mesh::Snapshot& part, const std::string& name, int level) {
  Cells all;
  const auto field = part.field(name, level);
  for (int b = 0; b < field.blocks(); ++b) {
    auto& [box, values] = all.emplace_back(field.box(b), std::vector<double>{});
    core::for_each_cell(field.box(b),
                        [&, view = field.view(b)](int k, int j, int i) { values.push_back(view(k, j, i)); });
  }
  return all;
}

Grid two_blobs(Int3 cells) {
  Grid grid(cells);
  core::for_each_cell(Box{{10, 2, 3}, {12, 5, 4}}, [&](int k, int j, int i) { grid(k, j, i % 12) = 1.0 + i; });
  core::for_each_cell(Box{{-1, 0, 9}, {2, 2, 10}},
                      [&](int k, int j, int i) { grid(k, j, mesh::wrapped(i, cells.x)) = -4.0 - i - 2.0 * j; });
  return grid;
}

TEST(Regions, AreWhatTheyWereMadeOf) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{12, 10, 14};
  const Grid a = two_blobs(cells), b = Grid::of(cells, [](int k, int j, int i) { return 100.0 * k + 10.0 * j + i; });
  const auto snapshot = snapshot_of(test::random_layout(cells, periodic, world.size(), 9, 3), world.rank(), a, b);
  const auto analysis = test::analysis_of(task("condition = 'abs(a) > 0.5'\nmeasure = ['b']"));

  const auto result = analysis->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(result.summary, "2 regions");
  EXPECT_THAT(test::integers(result, "cells"), ElementsAre(6, 6));
  // The first crosses the boundary along x, with its extreme at x = 1, y = 1; the second has it at x = 11.
  EXPECT_THAT(test::integers(result, "id"), ElementsAre((3 * 10 + 2) * 12 + 11, (9 * 10 + 1) * 12 + 1));
  EXPECT_THAT(test::numbers(result, "extreme"), ElementsAre(12.0, -7.0));
  EXPECT_THAT(test::numbers(result, "extreme_x"), ElementsAre(11.5, 1.5));
  EXPECT_THAT(test::numbers(result, "x"), ElementsAre(11.0, 0.5));
  EXPECT_THAT(test::numbers(result, "y"), ElementsAre(3.5, 1.0));
  EXPECT_THAT(test::integers(result, "low_x"), ElementsAre(10, 11));
  EXPECT_THAT(test::integers(result, "high_x"), ElementsAre(12, 14));
  EXPECT_THAT(test::integers(result, "high_y"), ElementsAre(5, 2));
  EXPECT_THAT(test::numbers(result, "b_mean"), ElementsAre(340.5, 900.0 + 5.0 + 12.0 / 3.0));
  EXPECT_THAT(test::numbers(result, "b_integral"), ElementsAre(2043.0, 6.0 * 909.0));
  EXPECT_THAT(test::numbers(result, "b_min"), ElementsAre(330.0, 900.0));
  EXPECT_THAT(test::numbers(result, "b_max"), ElementsAre(351.0, 921.0));
  EXPECT_EQ(result.column("b_integral").unit, "");
  EXPECT_EQ(result.column("extreme").unit, "K");
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("births")), 2);
}

TEST(Regions, AreThoseOfAFloodFillForAnyLayoutAndConnectivity) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const Int3 cells{13, 9, 11};
  const mesh::Periodicity walls{true, false, true};
  const Grid a = test::random_field(cells, 3), b = test::random_field(cells, 4);
  const Grid height = Grid::of(
      cells, [&](int k, int j, int i) { return a(k, j, i) > 0.55 or b(k, j, i) < 0.1 ? std::fabs(a(k, j, i)) : -1.0; });
  for (const int connectivity : {6, 14, 26}) {
    const auto analysis = test::analysis_of(
        task("condition = 'a > 0.55 or b < 0.1'\nsave = ['b']\nmargin = 0\nmeasure = ['b']\nconnectivity = " +
             std::to_string(connectivity)));
    const auto expected = test::FloodFill(height, 0.0, connectivity, walls).halos(0.0);

    const auto alone = analysis->run(self, snapshot_of(test::one_box(cells, walls), 0, a, b));
    const auto together =
        analysis->run(world, snapshot_of(test::random_layout(cells, walls, world.size(), 8, 5), world.rank(), a, b));

    const auto columns = whole(world, together);
    if (world.rank() != 0) continue;
    EXPECT_EQ(columns, whole(self, alone));
    EXPECT_EQ(together.attributes, alone.attributes);
    ASSERT_EQ(columns.at("id").size(), expected.size());
    for (std::size_t row = 0; row < expected.size(); ++row) {
      const auto found = expected.find(static_cast<std::int64_t>(columns.at("id")[row]));
      ASSERT_NE(found, expected.end());
      EXPECT_EQ(columns.at("cells")[row], static_cast<double>(found->second.cells));
      EXPECT_EQ(std::fabs(columns.at("extreme")[row]), found->second.height);
    }
  }
}

// Whether a cell lies within `margin` cells of one where the condition holds, across periodic boundaries.
Grid grown(const Grid& a, double above, int margin) {
  Grid near(a.cells);
  core::for_each_cell(a.domain(), [&](int k, int j, int i) {
    if (!(a(k, j, i) > above)) return;
    core::for_each_cell(Box{{i - margin, j - margin, k - margin}, {i + margin + 1, j + margin + 1, k + margin + 1}},
                        [&](int z, int y, int x) {
                          near(mesh::wrapped(z, a.cells.z), mesh::wrapped(y, a.cells.y), mesh::wrapped(x, a.cells.x)) =
                              1.0;
                        });
  });
  return near;
}

TEST(RegionsSaved, HoldEveryCellWithinTheMarginAndNoneTwice) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const Int3 cells{40, 24, 33};
  Grid a(cells);
  for (const Int3 cell : {Int3{0, 0, 0}, Int3{17, 12, 16}, Int3{18, 13, 17}, Int3{39, 5, 30}})
    a(cell.z, cell.y, cell.x) = 2.0;
  const Grid b = test::random_field(cells, 8), near = grown(a, 1.0, 3);
  const auto analysis = test::analysis_of(task("condition = 'a > 1'\nsave = ['b', 'a']\nmargin = 3"));

  const auto alone = analysis->run(self, snapshot_of(test::one_box(cells), 0, a, b));
  const auto together =
      analysis->run(world, snapshot_of(test::random_layout(cells, periodic, world.size(), 11, 6), world.rank(), a, b));

  ASSERT_TRUE(together.cut_out);
  const auto boxes = alone.cut_out->levels.front().boxes();
  EXPECT_TRUE(std::ranges::equal(together.cut_out->levels.front().boxes(), boxes));
  Grid saved(cells);
  for (const auto& [box, values] : cells_of(*alone.cut_out, "b", 0)) {
    auto value = values.begin();
    core::for_each_cell(box, [&](int k, int j, int i) {
      saved(k, j, i) += 1.0;
      EXPECT_EQ(*value++, b(k, j, i));
    });
  }
  std::int64_t count = 0;
  for (std::size_t c = 0; c < saved.values.size(); ++c) {
    EXPECT_LE(saved.values[c], 1.0);
    EXPECT_GE(saved.values[c], near.values[c]);
    count += saved.values[c] > 0.0;
  }
  EXPECT_EQ(std::get<std::int64_t>(alone.attributes.at("saved_cells")), count);
  EXPECT_LT(count, cells.product() / 4);
  for (const auto& [box, values] : cells_of(*together.cut_out, "b", 0)) {
    auto value = values.begin();
    core::for_each_cell(box, [&](int k, int j, int i) { EXPECT_EQ(*value++, b(k, j, i)); });
  }
}

TEST(RegionsSaved, OfARefinedMeshAreItsLeaves) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto mesh = test::random_mesh({16, 16, 16}, 4, 2, periodic, world.size(), 3);
  const auto is_in = [&](int level, Int3 cell) {
    const Box at = mesh.finest_cells_of(cell, level);
    return Box{{56, 20, 20}, {64, 40, 30}}.contains(at.lo) ? 5.0 : 0.5;
  };
  const auto value = [](int level, Int3 cell) { return test::noise(9, level, cell); };
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.rank = world.rank();
  snapshot.add({"a", "1"}, test::leaves_of(mesh, world.rank(), is_in));
  snapshot.add({"b", "1"}, test::leaves_of(mesh, world.rank(), value));
  const int margin = 1;

  const auto result = test::analysis_of(task("condition = 'a > 1'\nsave = ['b']\nmargin = 1"))->run(world, snapshot);

  ASSERT_TRUE(result.cut_out);
  std::vector<Grid> saved;
  for (int level = 0; level <= result.cut_out->finest_level(); ++level) {
    const mesh::Layout& boxes = result.cut_out->levels[static_cast<std::size_t>(level)];
    EXPECT_GT(boxes.size(), 0);
    Grid& of_level = saved.emplace_back(boxes.domain().extent());
    for (const Box& box : boxes.boxes())
      core::for_each_cell(box, [&](int k, int j, int i) { of_level(k, j, i) += 1.0; });
    for (const auto& [box, values] : cells_of(*result.cut_out, "b", level)) {
      auto cell = values.begin();
      core::for_each_cell(box, [&](int k, int j, int i) {
        const bool is_leaf = mesh.levels[static_cast<std::size_t>(level)].find({i, j, k}) >= 0;
        EXPECT_TRUE(is_leaf ? *cell == value(level, {i, j, k}) : std::isnan(*cell));
        ++cell;
      });
    }
  }
  // Each leaf that a region touches when it is grown by cells of its own level is there, once.
  std::vector<Box> touched;  // in cells of the finest level
  test::for_each_leaf_cell(mesh, [&](int level, Int3 cell) {
    if (is_in(level, cell) > 1.0)
      touched.push_back(mesh.refined(Box{cell, cell + Int3{1, 1, 1}}.grown(margin), level, mesh.finest_level()));
  });
  const Int3 n = mesh.finest_cells();
  test::for_each_leaf_cell(mesh, [&](int level, Int3 cell) {
    const Box here = mesh.finest_cells_of(cell, level);
    bool is_touched = false;
    for (const Box& box : touched)
      for (const std::int32_t shift : {-n.x, 0, n.x})
        is_touched = is_touched || !intersection(box.shifted({shift, 0, 0}), here).is_empty();
    if (!is_touched) return;
    ASSERT_LT(static_cast<std::size_t>(level), saved.size());
    EXPECT_EQ(saved[static_cast<std::size_t>(level)](cell.z, cell.y, cell.x), 1.0);
  });
}

// --- through time

// Boxes of cells at a step, each with a value of its own.
struct Blob {
  Box cells;
  double value;
};

class Film {
 public:
  Film(const comm::Communicator& comm, Int3 cells, const std::string& more = "")
      : comm_(comm), cells_(cells), analysis_(test::analysis_of(task("condition = 'a > 0'\n" + more))) {}

  const mesh::Result& show(const std::vector<Blob>& blobs) {
    Grid a(cells_);
    for (const auto& [box, value] : blobs)
      core::for_each_cell(box, [&](int k, int j, int i) {
        a(mesh::wrapped(k, cells_.z), mesh::wrapped(j, cells_.y), mesh::wrapped(i, cells_.x)) = value;
      });
    const auto layout = test::random_layout(cells_, periodic, comm_.size(), 6, static_cast<std::uint64_t>(step_ + 1));
    last_ = analysis_->run_after(comm_, snapshot_of(layout, comm_.rank(), a, a, step_), last_);
    step_ += 10;
    return last_;
  }
  std::map<double, std::int64_t> tracks() const {
    std::map<double, std::int64_t> by_value;
    for (std::size_t row = 0; row < test::integers(last_, "track").size(); ++row)
      by_value[test::numbers(last_, "extreme")[row]] = test::integers(last_, "track")[row];
    return by_value;
  }
  std::vector<std::int64_t> counts() const {
    std::vector<std::int64_t> all;
    for (const char* name : {"births", "splits", "mergers", "deaths"})
      all.push_back(std::get<std::int64_t>(last_.attributes.at(name)));
    return all;
  }

 private:
  const comm::Communicator& comm_;
  Int3 cells_;
  std::unique_ptr<Analysis> analysis_;
  mesh::Result last_;
  std::int64_t step_ = 0;
};

Box cube(Int3 at, std::int32_t side) {
  return {at, at + Int3{side, side, side}};
}

TEST(RegionsInTime, KeepTheirTracksThroughMergersAndSplits) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Film film(world, {20, 12, 12});
  const bool is_first = world.rank() == 0;

  film.show({{cube({18, 2, 2}, 4), 1.0}, {cube({6, 2, 2}, 3), 2.0}});  // the first crosses the boundary
  if (is_first) {
    EXPECT_EQ(film.tracks(), (std::map<double, std::int64_t>{{1.0, 0}, {2.0, 1}}));
    EXPECT_THAT(film.counts(), ElementsAre(2, 0, 0, 0));
  }

  film.show({{cube({20, 2, 2}, 4), 1.0}, {cube({5, 2, 2}, 3), 2.0}, {cube({12, 6, 6}, 3), 3.0}});
  if (is_first) {
    EXPECT_EQ(film.tracks(), (std::map<double, std::int64_t>{{1.0, 0}, {2.0, 1}, {3.0, 2}}));
    EXPECT_THAT(film.counts(), ElementsAre(1, 0, 0, 0));
  }

  film.show({{{{2, 2, 2}, {8, 6, 6}}, 4.0}, {cube({13, 6, 6}, 3), 3.0}});  // 32 cells of the first, 27 of the second
  if (is_first) {
    EXPECT_EQ(film.tracks(), (std::map<double, std::int64_t>{{4.0, 0}, {3.0, 2}}));
    EXPECT_THAT(film.counts(), ElementsAre(0, 0, 1, 0));
  }

  const auto& split = film.show({{{{2, 2, 2}, {4, 6, 6}}, 5.0}, {{{5, 2, 2}, {8, 6, 6}}, 6.0}});
  if (is_first) {
    EXPECT_EQ(film.tracks(), (std::map<double, std::int64_t>{{5.0, 3}, {6.0, 0}}));
    EXPECT_THAT(film.counts(), ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(test::integers(split, "from_track"), ElementsAre(0, 0));
    EXPECT_THAT(test::integers(split, "ended_track"), ElementsAre(2));
    EXPECT_THAT(test::integers(split, "ended_into"), ElementsAre(-1));
  }

  const auto& nothing = film.show({});
  if (!is_first) return;
  EXPECT_EQ(nothing.summary, "no regions");
  EXPECT_THAT(film.counts(), ElementsAre(0, 0, 0, 2));
  EXPECT_EQ(nothing.dimensions.at("region"), 0);
}

// A step without any region does not begin the count of tracks anew.
TEST(RegionsInTime, HaveTracksThatNoneHadBefore) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Film film(world, {12, 12, 12});

  film.show({{cube({1, 1, 1}, 2), 1.0}});
  film.show({});
  film.show({{cube({1, 1, 1}, 2), 2.0}});

  if (world.rank() != 0) return;
  EXPECT_EQ(film.tracks(), (std::map<double, std::int64_t>{{2.0, 1}}));
}

// --- what cannot be

TEST(Regions, AreNoneOrAllOfTheBox) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{20, 18, 3};
  const Grid a(cells, 2.0);
  const auto layout = test::random_layout(cells, periodic, world.size(), 5, 2);
  const auto snapshot = snapshot_of(layout, world.rank(), a, a);

  const auto none = test::analysis_of(task("condition = 'a > 3'\nsave = ['a']"))->run(world, snapshot);
  const auto all = test::analysis_of(task("condition = 'a > 1'\nsave = ['a']"))->run(world, snapshot);

  EXPECT_FALSE(none.cut_out);
  ASSERT_TRUE(all.cut_out);
  if (world.rank() != 0) return;
  EXPECT_EQ(none.summary, "no regions, 0 % of the bytes saved");
  EXPECT_EQ(all.summary, "1 region, 100 % of the bytes saved");
  EXPECT_THAT(test::integers(all, "cells"), ElementsAre(cells.product()));
  EXPECT_THAT(test::integers(all, "spans_box"), ElementsAre(1));
  EXPECT_EQ(std::get<double>(all.attributes.at("saved_share")), 1.0);
}

TEST(Regions, SayWhatIsWrongWithTheirConditions) {
  const auto refusal = [](const std::string& more) { return test::message_of([&] { test::analysis_of(task(more)); }); };

  EXPECT_THAT(refusal("condition = 'a >'"), HasSubstr("column"));
  EXPECT_THAT(refusal("condition = 'a + 1'"), HasSubstr("a number is neither true nor false"));
  EXPECT_THAT(refusal("condition = '1 > 2'"), HasSubstr("names no quantity"));
  EXPECT_THAT(refusal("condition = 'a > 1'\nmargin = -1"), HasSubstr("margin"));
  EXPECT_THAT(refusal("condition = 'a > 1'\nconnectivity = 8"), HasSubstr("6, 14 or 26"));
  EXPECT_THAT(refusal(""), HasSubstr("condition"));
  const auto wide = test::analysis_of(task("condition = 'a > 1'\nmargin = 9"));
  EXPECT_THAT(test::message_of([&] {
                wide->check(mesh::domain_of({16, 8, 1}));
              }),
              HasSubstr("a margin of 9 cells is wider than the box, which has 8 along y"));
  EXPECT_NO_THROW(wide->check(mesh::domain_of({16, 9, 1})));
}

TEST(Regions, OfNumbersThatAreNoneNameTheCell) {
  const comm::Communicator world(MPI_COMM_WORLD);
  Grid a({8, 8, 8}, 2.0);
  a(1, 2, 3) = std::numeric_limits<double>::infinity();
  const auto snapshot = snapshot_of(test::one_box({8, 8, 8}), world.rank(), a, a);

  EXPECT_THAT(test::message_of([&] { test::analysis_of(task("condition = 'a > 1'"))->run(world, snapshot); }),
              HasSubstr("(z, y, x) = (1, 2, 3)"));
}

}  // namespace
}  // namespace sidestream::analysis
