// Halos on leaves of several levels.
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "analysis/refined_mesh.hpp"
#include "analysis/world_and_self.hpp"
#include "sidestream/analysis/halos.hpp"
#include "sidestream/analysis/merge_tree.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::RefinedMesh;

constexpr mesh::Periodicity periodic{true, true, true};

// The plain twin: components of the graph of leaf cells. Two of them are neighbours if the finer one has a neighbour,
// on its own grid, inside the other.
class LeafGraph {
 public:
  struct Group {
    std::int64_t id = 0, cells = 0;
    double peak = 0.0, mass = 0.0;
  };

  template <typename F>
  LeafGraph(const RefinedMesh& mesh, F value, const HaloCriteria& criteria)
      : mesh_(mesh), criteria_(criteria), leaf_at_(mesh.finest_cells(), -1) {
    test::for_each_leaf_cell(mesh, [&](int level, Int3 cell) {
      if (value(level, cell) < criteria.t_boundary) return;
      core::for_each_cell(mesh.finest_cells_of(cell, level),
                          [&](int k, int j, int i) { leaf_at_(k, j, i) = static_cast<double>(leaves_.size()); });
      leaves_.push_back({level, cell, value(level, cell)});
    });
    group_.resize(leaves_.size());
    std::iota(group_.begin(), group_.end(), 0);
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) join_neighbors(leaf);
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) add(leaf);
  }

  std::map<std::int64_t, Group> halos() const {
    std::map<std::int64_t, Group> found;
    for (const auto& [root, group] : groups_)
      if (group.peak >= criteria_.t_halo) found[group.id] = group;
    return found;
  }

 private:
  struct Leaf {
    int level;
    Int3 cell;
    double value;
  };
  std::size_t root_of(std::size_t leaf) const {
    while (group_[leaf] != static_cast<int>(leaf)) leaf = static_cast<std::size_t>(group_[leaf]);
    return leaf;
  }
  void join_neighbors(std::size_t leaf) {
    const auto& [level, cell, value] = leaves_[leaf];
    const Int3 n = mesh_.levels[static_cast<std::size_t>(level)].domain().extent();
    for (const Int3 offset : neighbor_offsets(criteria_.connectivity)) {
      Int3 at = cell + offset;
      bool is_inside = true;
      for (int axis = 0; axis < 3; ++axis) {
        is_inside = is_inside &&
                    (mesh_.geometry.periodic[static_cast<std::size_t>(axis)] || (at[axis] >= 0 && at[axis] < n[axis]));
        at[axis] = mesh::wrapped(at[axis], n[axis]);
      }
      const Int3 corner = mesh_.finest_cells_of(at, level).lo;
      const int other = static_cast<int>(leaf_at_(corner.z, corner.y, corner.x));
      if (!is_inside || other < 0 || leaves_[static_cast<std::size_t>(other)].level > level) continue;
      group_[root_of(leaf)] = static_cast<int>(root_of(static_cast<std::size_t>(other)));
    }
  }
  void add(std::size_t leaf) {
    const auto& [level, cell, value] = leaves_[leaf];
    const mesh::Box finest = mesh_.finest_cells_of(cell, level);
    const std::int64_t id = linear_index(mesh_.levels.back().domain(), finest.lo);
    Group& group = groups_[root_of(leaf)];
    if (group.cells == 0 || value > group.peak || (value == group.peak && id < group.id)) {
      group.id = id;
      group.peak = value;
    }
    ++group.cells;
    group.mass += value * static_cast<double>(finest.volume()) / static_cast<double>(mesh_.finest_cells().product()) *
                  mesh_.geometry.volume();
  }

  const RefinedMesh& mesh_;
  HaloCriteria criteria_;
  Grid leaf_at_;  // number of the leaf that holds a cell of the finest level, -1 below the threshold
  std::vector<Leaf> leaves_;
  std::vector<int> group_;
  std::map<std::size_t, Group> groups_;
};

class World : public test::WorldAndSelf {
 public:
  template <typename F>
  std::vector<Halo> together(const RefinedMesh& mesh, F value, const HaloCriteria& criteria) const {
    const LeafField field = test::shared(test::leaves_of(mesh, world_.rank(), value));
    return world_.broadcast(find_halos(world_, field, mesh.geometry, criteria));
  }
  template <typename F>
  std::vector<Halo> alone(const RefinedMesh& mesh, F value, const HaloCriteria& criteria) const {
    return find_halos(self_, test::shared(test::leaves_of(mesh, 0, value)), mesh.geometry, criteria);
  }
  // On a uniform grid with the same box.
  std::vector<Halo> uniform_alone(const Grid& grid, mesh::Geometry geometry, const HaloCriteria& criteria) const {
    geometry.domain = grid.domain();
    return find_halos(self_, grid.on(test::one_box(grid.cells, geometry.periodic), 0), geometry, criteria);
  }
};

void expect_near(const std::array<double, 3>& a, const std::array<double, 3>& b, double tolerance) {
  for (std::size_t axis = 0; axis < 3; ++axis) EXPECT_NEAR(a[axis], b[axis], tolerance) << "xyz"[axis];
}

// Halos by id, without those whose centroid is ambiguous.
std::map<std::int64_t, Halo> by_id(const std::vector<Halo>& halos) {
  std::map<std::int64_t, Halo> found;
  for (const Halo& halo : halos) found[halo.id] = halo;
  return found;
}

class RefinedHalos : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(ByConnectivity, RefinedHalos, testing::Values(6, 14, 26));

TEST_P(RefinedHalos, AreTheComponentsOfTheGraphOfLeafCells) {
  const World world;
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    test::Dice dice(seed);
    const mesh::Periodicity wrap{dice.below(3) > 0, dice.below(3) > 0, dice.below(3) > 0};
    const Int3 cells{8, 4 + 4 * dice.below(2), seed % 6 == 5 ? 1 : 8};
    const bool is_plateau = seed % 2 == 1;
    const auto value = [&](int level, Int3 cell) {
      const double u = test::noise(seed, level, cell);
      return is_plateau ? std::floor(5 * u) : u;
    };
    const HaloCriteria criteria{is_plateau ? 3.0 : 0.55 + 0.05 * dice.below(5), is_plateau ? 4.0 : 0.97,
                                connectivity_of(GetParam())};
    const RefinedMesh mesh = test::random_mesh(cells, 4, 2, wrap, world.size(), seed);
    const auto expected = LeafGraph(mesh, value, criteria).halos();

    const auto halos = world.together(mesh, value, criteria);

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_EQ(halos.size(), expected.size());
    for (const Halo& halo : halos) {
      ASSERT_TRUE(expected.contains(halo.id)) << halo.id;
      const auto& group = expected.at(halo.id);
      EXPECT_EQ(halo.cells, group.cells);
      EXPECT_EQ(halo.peak, group.peak);
      EXPECT_NEAR(halo.mass, group.mass, 1e-12 * group.mass);
    }
    EXPECT_TRUE(halos == world.alone(test::random_mesh(cells, 4, 2, wrap, 1, seed), value, criteria));
  }
}

TEST_P(RefinedHalos, OfAnyThresholdsAreCountedByOneTree) {
  const World world;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world.size(), seed);
    const auto value = [&](int level, Int3 cell) { return test::noise(seed, level, cell); };
    TreeOptions options;
    options.connectivity = connectivity_of(GetParam());
    const MergeTree tree(*world, test::shared(test::leaves_of(mesh, (*world).rank(), value)), options);
    for (const double t_boundary : {0.2, 0.5, 0.8}) {
      const HaloCriteria criteria{t_boundary, 0.9, options.connectivity};

      std::int64_t expected = 0;
      if ((*world).rank() == 0) expected = static_cast<std::int64_t>(LeafGraph(mesh, value, criteria).halos().size());
      EXPECT_EQ(tree.components(t_boundary, 0.9), (*world).broadcast(expected));
    }
  }
}

TEST_P(RefinedHalos, AreThoseOfAUniformGridOfTheFinestLevelWithTheValuesOfTheLeaves) {
  const World world;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto value = [&](int level, Int3 cell) { return test::noise(seed, level, cell); };
    const HaloCriteria criteria{0.72, 0.95, connectivity_of(GetParam())};
    const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world.size(), seed);
    const auto expected = by_id(world.uniform_alone(test::spread(mesh, value), mesh.geometry, criteria));

    const auto halos = world.together(mesh, value, criteria);

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ASSERT_EQ(halos.size(), expected.size());
    for (const Halo& halo : halos) {
      ASSERT_TRUE(expected.contains(halo.id));
      const Halo& twin = expected.at(halo.id);
      EXPECT_EQ(halo.mass, twin.mass);
      EXPECT_EQ(halo.peak, twin.peak);
      EXPECT_EQ(halo.spans_box, twin.spans_box);
      if (halo.spans_box) continue;
      expect_near(halo.centroid, twin.centroid, 1e-11);
      expect_near(halo.center, twin.center, 1e-11);
    }
  }
}

TEST(RefinedHalos, AreThoseOfTheCoarseGridWhereFineCellsHaveItsValues) {
  const World world;
  const Grid grid = test::wave_field(16);
  const RefinedMesh mesh = test::random_mesh(grid.cells, 4, 2, periodic, world.size(), 3);
  const auto value = [&](int level, Int3 cell) { return grid(cell.z >> level, cell.y >> level, cell.x >> level); };
  const auto expected = world.uniform_alone(grid, mesh.geometry, {8, 20});

  const auto halos = world.together(mesh, value, {8, 20});

  ASSERT_EQ(halos.size(), expected.size());
  for (std::size_t h = 0; h < halos.size(); ++h) {
    EXPECT_EQ(halos[h].mass, expected[h].mass);
    EXPECT_EQ(halos[h].peak, expected[h].peak);
    EXPECT_EQ(halos[h].spans_box, expected[h].spans_box);
    if (halos[h].spans_box) continue;
    expect_near(halos[h].centroid, expected[h].centroid, 1e-11);
    expect_near(halos[h].center, expected[h].center, 1e-11);
  }
}

TEST(RefinedHalos, ThatCoverOnlyFineLevelsAreFound) {
  const World world;
  const auto all = [](const mesh::Box&, int) { return true; };
  const auto value = [](int level, Int3 cell) { return test::noise(5, level, cell); };
  const RefinedMesh mesh = test::refined_mesh({8, 8, 8}, 4, 1, periodic, world.size(), all);
  ASSERT_EQ(mesh.levels.front().size(), 0);
  const auto expected = world.uniform_alone(test::spread(mesh, value), mesh.geometry, {0.8, 0.95});

  const auto halos = world.together(mesh, value, {0.8, 0.95});

  ASSERT_FALSE(halos.empty());
  ASSERT_EQ(halos.size(), expected.size());
  for (std::size_t h = 0; h < halos.size(); ++h) {
    EXPECT_EQ(halos[h].id, expected[h].id);
    EXPECT_EQ(halos[h].mass, expected[h].mass);
    EXPECT_EQ(halos[h].cells, expected[h].cells);
  }
}

// A field of position, sampled at the centres of cells, with the mesh refined twice around a corner of the box.
template <typename F>
void expect_halos_of_position_within_a_cell(const World& world, F density, std::size_t count) {
  const double side = 16.0;
  const auto near_corner = [&](const mesh::Box& box, int level) {
    const double size = std::ldexp(1.0, -level);
    const auto distance = [&](int axis) {
      const double middle = 0.5 * (box.lo[axis] + box.hi[axis]) * size;
      return std::min(middle, side - middle);
    };
    return distance(0) + distance(1) + distance(2) < (level == 0 ? 14 : 9);
  };
  const RefinedMesh mesh = test::refined_mesh({16, 16, 16}, 4, 2, periodic, world.size(), near_corner);
  const auto at = [&](int level, Int3 cell) {
    const double size = std::ldexp(1.0, -level);
    return density((cell.x + 0.5) * size, (cell.y + 0.5) * size, (cell.z + 0.5) * size);
  };
  for (const mesh::Layout& level : mesh.levels) ASSERT_GT(level.size(), 0);
  const Grid fine = Grid::of(mesh.finest_cells(), [&](int k, int j, int i) { return at(2, {i, j, k}); });
  const auto expected = world.uniform_alone(fine, mesh.geometry, {2, 4});

  const auto halos = world.together(mesh, at, {2, 4});

  ASSERT_EQ(expected.size(), count);
  ASSERT_EQ(halos.size(), count);
  for (std::size_t h = 0; h < count; ++h) {
    EXPECT_NEAR(halos[h].mass, expected[h].mass, 0.05 * expected[h].mass);  // coarse cells round the surface off
    EXPECT_LT(halos[h].cells, expected[h].cells);
    if (halos[h].spans_box) continue;
    expect_near(halos[h].centroid, expected[h].centroid, 0.25);
    expect_near(halos[h].peak_position, expected[h].peak_position, 0.5);
  }
}

double periodic_distance(double a, double b) {
  const double d = std::abs(a - b);
  return std::min(d, 16.0 - d);
}

TEST(RefinedHalos, OfASphereAcrossLevelsAreThoseOfAUniformGridWithinACell) {
  const World world;
  const auto sphere = [](double x, double y, double z) {
    const double r2 = std::pow(periodic_distance(x, 2.9), 2) + std::pow(periodic_distance(y, 2.1), 2) +
                      std::pow(periodic_distance(z, 15.2), 2);
    return 10 * std::exp(-r2 / 12);
  };

  expect_halos_of_position_within_a_cell(world, sphere, 1);
}

TEST(RefinedHalos, OfAFilamentThroughAllLevelsAreOne) {
  const World world;
  const auto filament = [](double x, double y, double z) {
    const double r2 = std::pow(periodic_distance(y, x), 2) + std::pow(periodic_distance(z, x), 2);
    return 10 * std::exp(-r2 / 3);
  };

  expect_halos_of_position_within_a_cell(world, filament, 1);
}

TEST(RefinedHalos, KnowTheirCells) {
  const World world;
  const auto value = [](int level, Int3 cell) { return test::noise(2, level, cell); };
  const HaloCriteria criteria{0.7, 0.95};
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 2, periodic, world.size(), 2);
  const LeafField field = test::shared(test::leaves_of(mesh, (*world).rank(), value));
  std::map<std::int64_t, std::int64_t> cells;

  const auto levels = halo_membership(*world, field, criteria);

  for (const Halo& halo : world.together(mesh, value, criteria)) cells[halo.id] = halo.cells;
  for (auto& [id, count] : cells) {
    std::int64_t found = 0;
    for (const auto& level : levels) found += std::count(level.all().begin(), level.all().end(), id);
    EXPECT_EQ((*world).sum(found), count) << id;
  }
}

}  // namespace
}  // namespace sidestream::analysis
