// Groups of particles as halos: against plain sums over all members, bit by bit on any layout, and as an analysis.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "analysis/particle_sets.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/friends_of_friends.hpp"
#include "sidestream/core/error.hpp"
#include "support/world.hpp"

namespace sidestream {
namespace {

using analysis::Halo;
using test::Points;
using test::RefinedMesh;
using test::world;

constexpr double particle_mass = 3e9, scale_factor = 0.5;

// Mass fractions and momenta as functions of the id.
double fraction(std::int64_t id) {
  return id % 3 == 0 ? 0.125 : 1.0;
}
double momentum(std::int64_t id, std::size_t axis) {
  return 100.0 * core::normal(3, axis, static_cast<std::uint64_t>(id)) + 40.0 * static_cast<double>(axis);
}

mesh::Particles moving(const Points& points, const std::vector<std::size_t>& places) {
  mesh::Particles particles = test::particles_at(points, places);
  particles.mass = particle_mass;
  particles.attributes = {
      {"mass_fraction", "1", {}}, {"momentum_x", "km/s", {}}, {"momentum_y", "km/s", {}}, {"momentum_z", "km/s", {}}};
  for (const std::int64_t id : particles.id) {
    particles.attributes[0].values.push_back(fraction(id));
    for (std::size_t axis = 0; axis < 3; ++axis) particles.attributes[axis + 1].values.push_back(momentum(id, axis));
  }
  return particles;
}

double density(int level, mesh::Int3 cell) {
  return 1.0 + 9.0 * test::noise(5, level, cell);
}

std::vector<Halo> found(const RefinedMesh& mesh, const mesh::Particles& particles, double linking_length,
                        std::int64_t min_particles, std::vector<double> spheres = {}) {
  const analysis::LeafField field = test::shared(test::leaves_of(mesh, world().rank(), density));
  analysis::HaloMeasures measures;
  measures.particles = &particles;
  measures.scale_factor = scale_factor;
  measures.sphere_densities = std::move(spheres);
  return find_group_halos(world(), field, mesh.geometry, {linking_length, min_particles}, measures);
}
std::vector<Halo> found(const RefinedMesh& mesh, const Points& points, double linking_length,
                        std::int64_t min_particles, std::uint64_t seed = 0) {
  return found(mesh, moving(points, test::places_of(mesh, points, world().rank(), seed)), linking_length, min_particles,
               {3.0, 1.5});
}

// The same mesh with all blocks on rank 0.
RefinedMesh on_one_rank(RefinedMesh mesh) {
  for (mesh::Layout& layout : mesh.levels) {
    const std::vector<std::int32_t> zeros(static_cast<std::size_t>(layout.size()), 0);
    layout = {
        layout.domain(), layout.periodic(), {layout.boxes().begin(), layout.boxes().end()}, zeros, layout.level()};
  }
  return mesh;
}

// What a group is by plain sums over its members, whose positions are taken as images near the first one.
struct PlainGroup {
  std::int64_t particles = 0;
  double mass = 0.0, square = 0.0, volume = 0.0, peak = 0.0;
  test::Position first{}, moment{}, momentum{};
  std::set<std::tuple<int, std::int32_t, std::int32_t, std::int32_t>> cells;
};

std::map<std::int64_t, PlainGroup> plain_groups(const RefinedMesh& mesh, const Points& points, double linking_length) {
  const auto group_of = groups_of_all_pairs(points, mesh.geometry, linking_length);
  std::map<std::int64_t, PlainGroup> groups;
  for (std::size_t p = 0; p < points.size(); ++p) {
    PlainGroup& group = groups[group_of.at(points.ids[p])];
    const double mass = particle_mass * fraction(points.ids[p]);
    if (group.particles++ == 0) group.first = points.positions[p];
    group.mass += mass;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      double offset = points.positions[p][axis] - group.first[axis];
      if (mesh.geometry.periodic[axis])
        offset -= mesh.geometry.length[axis] * std::round(offset / mesh.geometry.length[axis]);
      const double velocity = momentum(points.ids[p], axis) / scale_factor;
      group.moment[axis] += mass * offset;
      group.momentum[axis] += mass * velocity;
      group.square += mass * velocity * velocity;
    }
    const test::Leaf leaf = test::leaf_of(mesh, points.positions[p]);
    if (group.cells.emplace(leaf.level, leaf.cell.z, leaf.cell.y, leaf.cell.x).second)
      group.volume += mesh.geometry.refined(leaf.level).cell_volume();
    group.peak = std::max(group.peak, density(leaf.level, leaf.cell));
  }
  return groups;
}

void expect_like(const Halo& halo, const PlainGroup& group, const mesh::Geometry& geometry) {
  EXPECT_EQ(halo.particles, group.particles);
  EXPECT_DOUBLE_EQ(halo.mass, group.mass);
  EXPECT_EQ(halo.mass, halo.particle_mass);
  EXPECT_EQ(halo.cells, static_cast<std::int64_t>(group.cells.size()));
  EXPECT_NEAR(halo.volume, group.volume, 1e-12 * group.volume);
  EXPECT_EQ(halo.peak, group.peak);
  double bulk = 0.0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const double velocity = group.momentum[axis] / group.mass;
    bulk += velocity * velocity;
    EXPECT_NEAR(halo.velocity[axis], velocity, 1e-9);
    double off = std::abs(halo.center[axis] - (group.first[axis] + group.moment[axis] / group.mass));
    if (geometry.periodic[axis]) off = std::abs(off - geometry.length[axis] * std::round(off / geometry.length[axis]));
    EXPECT_NEAR(off, 0.0, 1e-9);
  }
  EXPECT_NEAR(halo.velocity_dispersion, std::sqrt((group.square / group.mass - bulk) / 3.0), 1e-6);
}

TEST(GroupHalos, AreThePlainSumsOverTheirParticles) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const RefinedMesh mesh = test::random_mesh({12, 8, 8}, 4, 2, {true, seed % 2 == 0, true}, world().size(), seed);
    const Points points = test::clumped(mesh.geometry, 1200, seed);

    const auto halos = found(mesh, points, 0.1, 10);

    auto expected = plain_groups(mesh, points, 0.1);
    std::erase_if(expected, [](const auto& group) { return group.second.particles < 10; });
    ASSERT_EQ(halos.size(), world().rank() == 0 ? expected.size() : 0U);
    ASSERT_GT(expected.size(), 3U);
    for (const Halo& halo : halos) {
      SCOPED_TRACE(halo.id);
      ASSERT_TRUE(expected.contains(halo.id));
      if (!halo.spans_box) expect_like(halo, expected.at(halo.id), mesh.geometry);
    }
    EXPECT_TRUE(std::is_sorted(halos.begin(), halos.end(), [](const Halo& a, const Halo& b) {
      return a.mass != b.mass ? a.mass > b.mass : a.id < b.id;
    }));
  }
}

TEST(GroupHalos, AreTheSameBitsForAnyOwnersAndOrder) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const RefinedMesh mesh = test::random_mesh({12, 8, 8}, 4, 2, {true, true, seed % 2 == 0}, world().size(), seed);
    const Points points = test::clumped(mesh.geometry, 2000, seed);
    const double length = seed % 2 == 0 ? 0.1 : 0.35;

    const auto halos = found(mesh, points, length, 5, seed), alone = found(on_one_rank(mesh), points, length, 5);

    EXPECT_EQ(halos, alone) << "seed " << seed;
    EXPECT_EQ(halos.empty(), world().rank() != 0);
  }
}

TEST(GroupHalos, AreTheSameBitsForAnyBlocksOfOneLevel) {
  const Points points = test::clumped(test::unit_cells({12, 10, 8}), 2000, 4);
  const auto on = [&](int boxes) {
    return found(test::uniform_mesh(test::random_layout({12, 10, 8}, {true, true, true}, world().size(), boxes, 3)),
                 points, 0.15, 5);
  };

  const auto few = on(2);

  EXPECT_EQ(few, on(30));
  EXPECT_EQ(few, on(300));
}

TEST(GroupHalos, ParticlesMayBeOnAnyRank) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, {true, true, true}, world().size(), 2);
  const Points points = test::clumped(mesh.geometry, 1000, 2);
  std::vector<std::size_t> all, none;
  for (std::size_t p = 0; p < points.size(); ++p) all.push_back(p);

  const auto on_the_last =
      found(mesh, moving(points, world().rank() == world().size() - 1 ? all : none), 0.1, 5, {3.0, 1.5});

  EXPECT_EQ(on_the_last, found(mesh, points, 0.1, 5));
}

// A chain along x through blocks of different ranks, so that most ranks have several parts of it.
TEST(GroupHalos, AGroupThatReturnsToARankIsOneHalo) {
  const mesh::Layout slabs = mesh::split(mesh::domain_of({16, 2, 2}), {16, 1, 1}, {false, true, true});
  std::vector<std::int32_t> owners;
  for (std::int32_t box = 0; box < slabs.size(); ++box) owners.push_back((box + 1) % world().size());
  const RefinedMesh mesh =
      test::uniform_mesh({slabs.domain(), slabs.periodic(), {slabs.boxes().begin(), slabs.boxes().end()}, owners});
  Points points;
  for (int p = 0; p < 160; ++p) points.add({0.1 * p + 0.05, 1.0, 1.0});

  const auto halos = found(mesh, points, 0.11, 20);

  if (world().rank() != 0) return;
  ASSERT_EQ(halos.size(), 1U);
  EXPECT_EQ(halos.front().id, 3);
  EXPECT_EQ(halos.front().particles, 160);
  EXPECT_EQ(halos.front().cells, 16);
  EXPECT_NEAR(halos.front().centroid[0], 8.0, 1e-12);
}

TEST(GroupHalos, TwoGroupsInOneCellHaveOnePeak) {
  const RefinedMesh mesh = test::uniform_mesh(mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}));
  Points points;
  for (int p = 0; p < 30; ++p) points.add({1.2 + 0.001 * p, 1.5, 1.5});
  for (int p = 0; p < 40; ++p) points.add({1.7 + 0.001 * p, 1.5, 1.5});

  const auto halos = found(mesh, points, 0.05, 20);

  if (world().rank() != 0) return;
  ASSERT_EQ(halos.size(), 2U);
  EXPECT_EQ(halos[0].particles, 40);
  EXPECT_EQ(halos[0].peak_position, halos[1].peak_position);
  EXPECT_EQ(halos[0].spheres, halos[1].spheres);
  EXPECT_EQ(halos[0].volume, 1.0);
}

TEST(GroupHalos, NoParticlesAreNoHalos) {
  const RefinedMesh mesh = test::uniform_mesh(mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}));

  EXPECT_TRUE(found(mesh, Points{}, 0.1, 1).empty());
}

TEST(GroupHalos, ABadMassIsAnErrorOnAllRanks) {
  const RefinedMesh mesh = test::uniform_mesh(mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}));
  const Points points = test::clumped(mesh.geometry, 100, 1);
  mesh::Particles particles = moving(points, test::places_of(mesh, points, world().rank()));
  if (world().rank() == world().size() - 1) particles.attributes[0].values.front() = std::nan("");

  EXPECT_THROW(found(mesh, particles, 0.1, 1), core::Error);
}

// A snapshot with a uniform density and `points` as particles, or none.
mesh::Snapshot snapshot_of(const RefinedMesh& mesh, const mesh::Particles* particles) {
  mesh::Snapshot snapshot;
  snapshot.geometry = mesh.geometry;
  snapshot.levels = mesh.levels;
  snapshot.moment.attributes = {{"redshift", 1.0}, {"omega_m", 0.3}};
  snapshot.add({"dark_matter_density", "Msun/Mpc^3"}, test::leaves_of(mesh, world().rank(), density));
  if (particles != nullptr) snapshot.add_species({mesh::dark_matter, particles});
  return snapshot;
}

TEST(GroupHalos, AreAFinderOfTheHalosAnalysis) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, {true, true, true}, world().size(), 4);
  const Points points = test::clumped(mesh.geometry, 1000, 8);
  const mesh::Particles particles = moving(points, test::places_of(mesh, points, world().rank()));
  const auto task = test::analysis_of(
      "analysis = 'halos'\nfinder = 'fof'\nlinking_length = 0.15\nmin_particles = 10\nkinematics = true\n");

  const mesh::Result result = task->run(world(), snapshot_of(mesh, &particles));

  EXPECT_FALSE(task->species().empty());
  EXPECT_EQ(task->fields(), test::analysis_of("analysis = 'halos'")->fields());
  const double length = 0.15 * std::cbrt(mesh.geometry.volume() / 1000);
  const auto expected = found(mesh, particles, length, 10);
  if (world().rank() != 0) return;
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(test::integers(result, "id").size(), expected.size());
  for (std::size_t h = 0; h < expected.size(); ++h) {
    const double n = static_cast<double>(expected[h].particles);
    EXPECT_EQ(test::integers(result, "id")[h], expected[h].id);
    EXPECT_EQ(test::integers(result, "particles")[h], expected[h].particles);
    EXPECT_EQ(test::numbers(result, "mass")[h], expected[h].mass);
    EXPECT_EQ(test::numbers(result, "velocity_x")[h], expected[h].velocity[0]);
    EXPECT_DOUBLE_EQ(test::numbers(result, "mass_warren")[h], expected[h].mass * (1.0 - std::pow(n, -0.6)));
  }
  EXPECT_EQ(std::get<double>(result.attributes.at("linking_length")), 0.15);
  EXPECT_EQ(std::get<std::string>(result.attributes.at("finder")), "fof");
  EXPECT_EQ(result.summary, std::to_string(expected.size()) + " halos");
}

TEST(GroupHalos, AreOfTheSpeciesThatIsChosen) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, {true, true, true}, world().size(), 4);
  const auto particles_of = [&](std::uint64_t seed, int count) {
    const Points points = test::clumped(mesh.geometry, count, seed);
    return moving(points, test::places_of(mesh, points, world().rank()));
  };
  const mesh::Particles matter = particles_of(8, 1000), stars = particles_of(9, 400);
  const auto task = [](const std::string& species) {
    return test::analysis_of("analysis = 'halos'\nfinder = 'fof'\nmin_particles = 5\nspecies = '" + species + "'");
  };
  mesh::Snapshot both = snapshot_of(mesh, &matter);
  both.add_species({"stars", &stars});
  const auto groups = [](const mesh::Result& result) {
    return world().rank() == 0 ? test::integers(result, "particles") : std::vector<std::int64_t>{};
  };

  const auto of_stars = groups(task("stars")->run(world(), both)), of_first = groups(task("")->run(world(), both));

  EXPECT_EQ(task("stars")->species(), std::vector<std::string>{"stars"});
  EXPECT_EQ(of_stars, groups(task("")->run(world(), snapshot_of(mesh, &stars))));
  EXPECT_EQ(of_first, groups(task("")->run(world(), snapshot_of(mesh, &matter))));
  EXPECT_TRUE(world().rank() != 0 || of_stars != of_first);
  try {
    task("star")->run(world(), both);
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "there is no species `star`");
    EXPECT_NE(error.hint().find("dark_matter, stars"), std::string::npos);
  }
}

TEST(GroupHalos, BothFindersHaveTheSameColumns) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, {true, true, true}, world().size(), 4);
  const Points points = test::clumped(mesh.geometry, 200, 8);
  const mesh::Particles particles = moving(points, test::places_of(mesh, points, world().rank()));
  const auto columns_of = [&](const std::string& finder) {
    std::set<std::string> names;
    const std::string task = "analysis = 'halos'\nkinematics = true\nfinder = '" + finder + "'";
    for (const auto& column : test::analysis_of(task)->run(world(), snapshot_of(mesh, &particles)).columns)
      names.insert(column.name);
    return names;
  };

  auto expected = columns_of("iso-density");
  if (world().rank() == 0) expected.insert("mass_warren");

  EXPECT_EQ(columns_of("fof"), expected);
}

TEST(GroupHalos, ASimulationWithoutParticlesIsToldSo) {
  const RefinedMesh mesh = test::uniform_mesh(mesh::split(mesh::domain_of({4, 4, 4}), {1, 1, world().size()}));
  const auto task = test::analysis_of("analysis = 'halos'\nfinder = 'fof'");

  try {
    task->run(world(), snapshot_of(mesh, nullptr));
    FAIL();
  } catch (const core::Error& error) {
    EXPECT_EQ(error.message(), "the simulation has no particles to group");
    EXPECT_NE(error.hint().find("iso-density"), std::string::npos);
  }
}

TEST(GroupHalos, RanksWithoutParticlesMayHaveNone) {
  const RefinedMesh mesh = test::uniform_mesh(test::one_box({4, 4, 4}));
  const Points points = test::clumped(mesh.geometry, 300, 3);
  const mesh::Particles particles = moving(points, test::places_of(mesh, points, world().rank()));
  const auto task = test::analysis_of("analysis = 'halos'\nfinder = 'fof'\nmin_particles = 3");

  const auto result = task->run(world(), snapshot_of(mesh, world().rank() == 0 ? &particles : nullptr));

  EXPECT_EQ(result.columns.empty(), world().rank() != 0);
}

TEST(GroupHalos, WhereAllGroupsAreTooSmallTheLargestIsTold) {
  const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, 1, {true, true, true}, world().size(), 4);
  const Points points = test::clumped(mesh.geometry, 300, 3);
  const mesh::Particles particles = moving(points, test::places_of(mesh, points, world().rank()));
  const auto run = [&](const std::string& keys) {
    return test::analysis_of("analysis = 'halos'\nfinder = 'fof'\n" + keys)
        ->run(world(), snapshot_of(mesh, &particles));
  };

  const auto all = run("min_particles = 1"), none = run("min_particles = 301");

  if (world().rank() != 0) return;
  const std::vector<std::int64_t> sizes = test::integers(all, "particles");
  const std::string largest = std::to_string(*std::max_element(sizes.begin(), sizes.end()));
  EXPECT_EQ(
      none.summary,
      "no halos: the largest group of particles linked within 0.2 of their mean separation (linking_length) has " +
          largest + ", min_particles is 301");
}

TEST(GroupHalos, BadOptionsAreErrors) {
  for (const char* option : {"linking_length = 0.0", "linking_length = -0.2", "linking_length = nan",
                             "linking_length = inf", "min_particles = 0", "finder = 'rockstar'"})
    EXPECT_THROW(test::analysis_of(std::string("analysis = 'halos'\n") + option), core::Error) << option;
}

}  // namespace
}  // namespace sidestream
