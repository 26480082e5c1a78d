#include "sidestream/analysis/halos.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "analysis/flood_fill.hpp"
#include "analysis/grid.hpp"
#include "sidestream/core/error.hpp"
#include "support/places.hpp"

namespace sidestream::analysis {

namespace {

using mesh::Int3;
using test::Grid;

constexpr mesh::Periodicity periodic{true, true, true}, closed{false, false, false};

class World {
 public:
  World() : world_(MPI_COMM_WORLD), self_(MPI_COMM_SELF) {}
  const comm::Communicator& operator*() const { return world_; }
  const comm::Communicator& self() const { return self_; }

  // Halos of the whole field by one rank alone.
  std::vector<Halo> alone(const Grid& grid, const HaloCriteria& criteria, mesh::Periodicity wrap = periodic) const {
    return find_halos(self_, grid.on(test::one_box(grid.cells, wrap), 0), test::unit_cells(grid.cells, wrap), criteria);
  }
  // Halos of the field spread over all ranks, known to all of them.
  std::vector<Halo> together(const Grid& grid, const mesh::Layout& layout, const HaloCriteria& criteria) const {
    const auto geometry = test::unit_cells(grid.cells, layout.periodic());
    return world_.broadcast(find_halos(world_, grid.on(layout, world_.rank()), geometry, criteria));
  }

 private:
  comm::Communicator world_, self_;
};

// Peaks, cells and membership are those of the flood fill, the mass to round-off, and nothing depends on the layout.
void expect_same_as_flood_fill(const World& world, const Grid& grid, const mesh::Layout& layout,
                               const HaloCriteria& criteria) {
  const test::FloodFill oracle(grid, criteria.t_boundary, static_cast<int>(criteria.connectivity), layout.periodic());
  const auto expected = oracle.halos(criteria.t_halo);

  const auto halos = world.together(grid, layout, criteria);

  ASSERT_EQ(halos.size(), expected.size());
  for (const Halo& halo : halos) {
    ASSERT_TRUE(expected.contains(halo.id)) << halo.id;
    const auto& group = expected.at(halo.id);
    EXPECT_EQ(halo.cells, group.cells);
    EXPECT_EQ(halo.peak, group.height);
    EXPECT_NEAR(halo.mass, group.sum, 1e-12 * group.sum);
  }
  EXPECT_TRUE(halos == world.alone(grid, criteria, layout.periodic())) << "differs from one rank alone";
  const auto field = grid.on(layout, (*world).rank());
  const auto levels = halo_membership(*world, LeafField{field}, criteria);
  const auto& ids = levels.front();
  const auto expected_ids = oracle.membership(criteria.t_halo);
  for (int b = 0; b < ids.blocks(); ++b) {
    const auto view = ids.view(b);
    core::for_each_cell(ids.box(b), [&](int k, int j, int i) {
      EXPECT_EQ(view(k, j, i), expected_ids[static_cast<std::size_t>(grid.index(k, j, i))])
          << k << " " << j << " " << i;
    });
  }
}

struct HandField {
  const char* name;
  std::vector<std::pair<Int3, double>> cells;  // as (z, y, x) in the order slowest first
  mesh::Periodicity wrap;
  std::array<double, 3> mass;  // for connectivity 6, 14, 26
  std::array<std::int64_t, 3> count;
};

TEST(Halos, OfHandMadeFieldsFollowTheConnectivity) {
  const World world;
  const std::vector<HandField> fields{
      {"A", {{{0, 0, 0}, 10}, {{7, 0, 0}, 5}, {{0, 7, 0}, 5}}, periodic, {20, 20, 20}, {3, 3, 3}},
      {"A closed", {{{0, 0, 0}, 10}, {{7, 0, 0}, 5}, {{0, 7, 0}, 5}}, closed, {10, 10, 10}, {1, 1, 1}},
      {"B", {{{2, 2, 2}, 10}, {{3, 3, 2}, 6}}, periodic, {10, 16, 16}, {1, 2, 2}},
      {"C", {{{2, 2, 2}, 10}, {{3, 1, 2}, 6}}, periodic, {10, 10, 16}, {1, 1, 2}},
      {"D", {{{2, 2, 2}, 10}, {{3, 3, 3}, 6}}, periodic, {10, 16, 16}, {1, 2, 2}},
      {"E", {{{2, 2, 2}, 10}, {{1, 3, 3}, 6}}, periodic, {10, 10, 16}, {1, 1, 2}}};
  for (const HandField& field : fields)
    for (std::size_t c = 0; c < 3; ++c) {
      Grid grid({8, 8, 8});
      for (const auto& [cell, value] : field.cells) grid(cell.x, cell.y, cell.z) = value;
      const auto layout = test::random_layout(grid.cells, field.wrap, (*world).size(), 20, c);

      const auto halos = world.together(grid, layout, {4, 8, connectivity_of(std::array{6, 14, 26}[c])});

      ASSERT_EQ(halos.size(), 1u) << field.name;
      EXPECT_EQ(halos[0].peak, 10) << field.name;
      EXPECT_EQ(halos[0].mass, field.mass[c]) << field.name << " " << c;
      EXPECT_EQ(halos[0].cells, field.count[c]) << field.name << " " << c;
    }
}

struct Known {
  int n, connectivity;
  double t_boundary, t_halo;
  std::int64_t halos;
  double mass;
  std::int64_t cells;
  Int3 peak;  // z, y, x in the order of the formula
};

TEST(Halos, OfTheWaveFieldAreTheKnownOnes) {
  const World world;
  const std::vector<Known> table{
      {16, 6, 20, 40, 13, 1206.1519904, 26, {6, 5, 14}},    {16, 6, 8, 20, 4, 10774.0407302, 422, {2, 7, 8}},
      {16, 14, 20, 40, 10, 1315.0668762, 22, {7, 3, 3}},    {16, 14, 8, 20, 3, 10818.9093723, 426, {2, 7, 8}},
      {16, 26, 20, 40, 7, 2170.0739230, 43, {7, 3, 3}},     {16, 26, 8, 20, 2, 10844.9251627, 429, {2, 7, 8}},
      {32, 6, 20, 40, 14, 9953.2856214, 223, {11, 10, 28}}, {32, 14, 20, 40, 13, 10516.1766998, 175, {14, 7, 7}},
      {32, 14, 8, 20, 4, 77289.0112001, 2889, {14, 7, 7}},  {32, 26, 8, 20, 4, 77444.6748440, 2906, {14, 7, 7}}};
  for (const Known& known : table) {
    const Grid grid = test::wave_field(known.n);
    const auto layout = test::random_layout(grid.cells, periodic, (*world).size(), 24, 5);

    const auto halos =
        world.together(grid, layout, {known.t_boundary, known.t_halo, connectivity_of(known.connectivity)});

    SCOPED_TRACE(testing::Message() << known.n << " " << known.connectivity << " " << known.t_halo);
    ASSERT_EQ(static_cast<std::int64_t>(halos.size()), known.halos);
    EXPECT_NEAR(halos[0].mass, known.mass, 2e-11 * known.mass + 5e-8);
    EXPECT_EQ(halos[0].cells, known.cells);
    EXPECT_EQ(halos[0].id, grid.index(known.peak.x, known.peak.y, known.peak.z));
  }
}

TEST(Halos, OfTheWaveFieldMatchTheReferenceCatalogue) {
  const World world;
  const Grid grid = test::wave_field(16);
  std::ifstream file(test::test_data("halo_catalogue_F16.json"));
  const auto catalogue = nlohmann::json::parse(file);
  for (const int connectivity : {6, 14, 26}) {
    const auto& expected = catalogue["halos"]["conn" + std::to_string(connectivity)];

    const auto halos = world.alone(grid, {8, 20, connectivity_of(connectivity)});

    ASSERT_EQ(halos.size(), expected.size());
    for (std::size_t h = 0; h < halos.size(); ++h) {
      const auto at = expected[h]["max_pos"].get<std::array<int, 3>>();
      EXPECT_EQ(halos[h].id, grid.index(at[0], at[1], at[2]));
      EXPECT_EQ(halos[h].cells, expected[h]["ncell"].get<std::int64_t>());
      EXPECT_NEAR(halos[h].peak, expected[h]["max"].get<double>(), 1e-11 * halos[h].peak);
      EXPECT_NEAR(halos[h].mass, expected[h]["mass"].get<double>(), 1e-11 * halos[h].mass);
    }
  }
}

TEST(Halos, OfABlobAcrossTheCornerHaveItsMassAndCentre) {
  const World world;
  const struct {
    int n;
    double mass;
    std::int64_t cells;
  } table[] = {{32, 1.347851, 304}, {64, 1.329608, 2382}};
  for (const auto& known : table) {
    const int n = known.n;
    const auto distance = [n](int i, double center) {
      const double d = std::abs((i + 0.5) / n - center);
      return std::min(d, 1 - d) * n;
    };
    const Grid grid = Grid::of({n, n, n}, [&](int i, int j, int k) {
      const double r2 = std::pow(distance(i, .03), 2) + std::pow(distance(j, .5), 2) + std::pow(distance(k, .97), 2);
      return 1 + 300 * std::exp(-r2 / (2 * std::pow(.08 * n, 2)));
    });

    const auto halos = world.together(grid, mesh::split(grid.domain(), {1, (*world).size(), 1}), {81.66, 200});

    ASSERT_EQ(halos.size(), 1u);
    EXPECT_EQ(halos[0].cells, known.cells);
    EXPECT_NEAR(halos[0].mass / std::pow(n, 3), known.mass, 2e-6);
    for (const auto& center : {halos[0].centroid, halos[0].center}) {
      EXPECT_NEAR(center[2], .03 * n, .05);
      EXPECT_NEAR(center[1], .5 * n, .05);
      EXPECT_NEAR(center[0], .97 * n, .05);
    }
    EXPECT_FALSE(halos[0].spans_box);
  }
}

class HalosByConnectivity : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(All, HalosByConnectivity, testing::Values(6, 14, 26));

TEST_P(HalosByConnectivity, OfRandomFieldsAreThoseOfAFloodFillOnAnyLayout) {
  const World world;
  for (std::uint64_t seed = 0; seed < 70; ++seed) {
    test::Dice dice(seed);
    const Int3 cells{8 + dice.below(5), 8 + dice.below(5), 8 + dice.below(5)};
    const bool is_plateau = seed % 2 == 1;
    const Grid grid = test::random_field(cells, seed, is_plateau ? 5 : 0);
    const mesh::Periodicity wrap{dice.below(4) > 0, dice.below(4) > 0, dice.below(4) > 0};
    const auto layout = test::random_layout(cells, wrap, (*world).size(), 1 + dice.below(40), seed);
    const double t_boundary = is_plateau ? 2 + dice.below(3) : 0.5 + 0.05 * dice.below(8);
    const double t_halo = is_plateau ? 4 : 0.97;

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    expect_same_as_flood_fill(world, grid, layout, {t_boundary, t_halo, connectivity_of(GetParam())});
  }
}

TEST_P(HalosByConnectivity, OfThinGridsAreThoseOfAFloodFill) {
  const World world;
  const Int3 shapes[] = {{9, 7, 1}, {1, 8, 5}, {2, 6, 2}, {17, 1, 1}, {2, 2, 2}, {3, 1, 4}, {1, 1, 1}};
  for (const Int3 cells : shapes)
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const Grid grid = test::random_field(cells, seed);
      const auto layout = test::random_layout(cells, periodic, (*world).size(), 6, seed);

      SCOPED_TRACE(testing::Message() << cells.x << " x " << cells.y << " x " << cells.z << ", seed " << seed);
      expect_same_as_flood_fill(world, grid, layout, {0.5, 0.7, connectivity_of(GetParam())});
    }
}

TEST_P(HalosByConnectivity, OfOneCellBlocksAndOfACheckerboardAreThoseOfAFloodFill) {
  const World world;
  const Int3 cells{6, 6, 4};
  const Grid random = test::random_field(cells, 3);
  const Grid checkerboard = Grid::of(cells, [](int k, int j, int i) { return (i + j + k) % 2 + 0.001 * i; });
  const auto one_cell_blocks = test::random_layout(cells, periodic, (*world).size(), 144, 11);

  ASSERT_GT(one_cell_blocks.size(), 100);
  expect_same_as_flood_fill(world, random, one_cell_blocks, {0.6, 0.9, connectivity_of(GetParam())});
  expect_same_as_flood_fill(world, checkerboard, one_cell_blocks, {0.5, 1.0, connectivity_of(GetParam())});
}

TEST_P(HalosByConnectivity, ThatWindThroughEveryRankAreOne) {
  const World world;
  const Int3 cells{8, 8, 48};
  // A thread that goes round as it climbs, in slabs of two cells dealt in turn, so that it crosses every rank many
  // times.
  const Grid grid = Grid::of(cells, [](int k, int j, int i) {
    const int turn = k / 2 % 4;
    const bool is_thread = turn == 0   ? j == 1 && i < 7
                           : turn == 1 ? i == 6 && j < 7
                           : turn == 2 ? j == 6 && i < 7
                                       : i == 1 && j < 7;
    return is_thread ? 10.0 + 0.01 * k + 0.0001 * j + 0.000001 * i : 0.0;
  });
  std::vector<mesh::Box> slabs;
  std::vector<std::int32_t> owners;
  for (int s = 0; s < 24; ++s) {
    slabs.push_back({{0, 0, 2 * s}, {8, 8, 2 * s + 2}});
    owners.push_back(s * 7 % (*world).size());
  }
  const mesh::Layout layout(grid.domain(), periodic, slabs, owners);

  const auto halos = world.together(grid, layout, {5, 10, connectivity_of(GetParam())});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_TRUE(halos[0].spans_box);
  expect_same_as_flood_fill(world, grid, layout, {5, 10, connectivity_of(GetParam())});
}

TEST(Halos, DoNotDependOnTheBlocks) {
  const World world;
  const Grid grid = test::wave_field(16);
  const auto expected = world.alone(grid, {8, 20});
  const Int3 shapes[] = {{1, 1, 1}, {4, 1, 1}, {1, 4, 1}, {1, 1, 4}, {2, 2, 2}, {16, 1, 1}, {3, 5, 2}};
  for (const Int3 parts : shapes) {
    const auto split = mesh::split(grid.domain(), parts);
    std::vector<std::int32_t> owners;
    for (std::int32_t b = 0; b < split.size(); ++b) owners.push_back(b % (*world).size());
    const mesh::Layout layout(grid.domain(), periodic, {split.boxes().begin(), split.boxes().end()}, owners);

    EXPECT_TRUE(world.together(grid, layout, {8, 20}) == expected) << parts.x << parts.y << parts.z;
  }
}

TEST(Halos, MoveWithTheField) {
  const World world;
  const Grid grid = test::wave_field(16);
  const auto halos = world.alone(grid, {8, 20});
  const Int3 shifts[] = {{1, 0, 0}, {0, 5, 0}, {3, 11, 7}, {8, 8, 8}};
  for (const Int3 shift : shifts) {
    const auto moved = world.together(grid.rolled(shift), mesh::split(grid.domain(), {1, (*world).size(), 1}), {8, 20});

    ASSERT_EQ(moved.size(), halos.size());
    for (std::size_t h = 0; h < halos.size(); ++h) {
      EXPECT_EQ(moved[h].mass, halos[h].mass);
      EXPECT_EQ(moved[h].cells, halos[h].cells);
      for (int axis = 0; axis < 3; ++axis) {
        const auto a = static_cast<std::size_t>(axis);
        const double step = moved[h].centroid[a] - halos[h].centroid[a] - shift[axis];
        EXPECT_NEAR(step, 16 * std::round(step / 16), 1e-12);
      }
    }
  }
}

TEST(Halos, OfTwiceTheDensityAreTwiceAsHeavy) {
  const World world;
  Grid grid = test::wave_field(16);
  const auto halos = world.alone(grid, {8, 20});
  for (double& value : grid.values) value *= 2;

  const auto doubled = world.alone(grid, {16, 40});

  ASSERT_EQ(doubled.size(), halos.size());
  for (std::size_t h = 0; h < halos.size(); ++h) {
    EXPECT_EQ(doubled[h].mass, 2 * halos[h].mass);
    EXPECT_EQ(doubled[h].centroid, halos[h].centroid);
    EXPECT_EQ(doubled[h].center, halos[h].center);
  }
}

TEST(Halos, OfAConstantFieldAreOneOrNone) {
  const World world;
  const Grid grid({6, 5, 4}, 3.0);
  const auto layout = test::random_layout(grid.cells, periodic, (*world).size(), 7, 1);

  const auto above = world.together(grid, layout, {2, 3});
  const auto below = world.together(grid, layout, {3.5, 4});

  ASSERT_EQ(above.size(), 1u);
  EXPECT_EQ(above[0].id, 0);
  EXPECT_EQ(above[0].cells, 120);
  EXPECT_EQ(above[0].mass, 360);
  EXPECT_TRUE(above[0].spans_box);
  EXPECT_TRUE(below.empty());
}

TEST(Halos, AreSortedByMassThenId) {
  const World world;
  Grid grid({9, 9, 9});
  grid(1, 1, 1) = grid(4, 4, 4) = grid(7, 7, 7) = 5;
  grid(4, 4, 5) = 2;

  const auto halos = world.together(grid, mesh::split(grid.domain(), {1, 1, (*world).size()}), {1, 5});

  ASSERT_EQ(halos.size(), 3u);
  EXPECT_EQ(halos[0].id, grid.index(4, 4, 4));
  EXPECT_EQ(halos[1].id, grid.index(1, 1, 1));
  EXPECT_EQ(halos[2].id, grid.index(7, 7, 7));
}

TEST(Halos, RefuseAPeakBelowTheBoundary) {
  const World world;
  const Grid grid({4, 4, 4}, 1.0);

  EXPECT_THROW(world.together(grid, test::one_box(grid.cells), {4, 3}), core::Error);
}

TEST(Halos, KeepTheirDigitsOverManyOrdersOfMagnitude) {
  const World world;
  Grid grid({8, 8, 8}, 1e-3);
  grid(2, 2, 2) = 1e13;
  grid(2, 2, 3) = 0.1;

  const auto halos = world.together(grid, mesh::split(grid.domain(), {(*world).size(), 1, 1}), {0.05, 1});

  ASSERT_EQ(halos.size(), 1u);
  EXPECT_EQ(halos[0].mass, 1e13 + 0.1);
}

}  // namespace
}  // namespace sidestream::analysis
