// Halos of two moments and what they share.
#include "analysis/links/links.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"
#include "sidestream/core/error.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Box;
using mesh::Int3;
using test::Grid;
using test::RefinedMesh;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr std::int64_t no_halo = -1;

class World {
 public:
  const comm::Communicator& operator*() const { return world_; }
  const comm::Communicator* operator->() const { return &world_; }
  const comm::Communicator& alone() const { return self_; }

 private:
  comm::Communicator world_{MPI_COMM_WORLD}, self_{MPI_COMM_SELF};
};

RefinedMesh uniform_mesh(Int3 cells, int ranks, std::uint64_t seed, int boxes = 7) {
  return {test::unit_cells(cells, periodic), {test::random_layout(cells, periodic, ranks, boxes, seed)}};
}

// A moment: the halo and the density of each leaf, and of each particle (by its id) the halo.
struct Moment {
  RefinedMesh mesh;
  std::function<std::int64_t(int level, Int3 cell)> halo_of;
  std::function<double(int level, Int3 cell)> density;
  std::map<std::int64_t, std::int64_t> halo_of_particle;
};

// The members on the rank that owns their cells; particles anywhere.
Members members_on(const Moment& moment, int rank, int ranks) {
  Members members;
  for (int level = 0; level <= moment.mesh.finest_level(); ++level) {
    const mesh::Layout& layout = moment.mesh.levels[static_cast<std::size_t>(level)];
    for (const std::int32_t index : layout.boxes_of(rank))
      core::for_each_cell(layout.box(index), [&](int k, int j, int i) {
        const std::int64_t halo = moment.halo_of(level, {i, j, k});
        if (halo == no_halo) return;
        auto& runs = members.runs;
        const std::int64_t cell = linear_index(layout.domain(), {i, j, k});
        const bool goes_on = !runs.empty() && i > layout.box(index).lo.x && runs.back().level == level &&
                             runs.back().of == halo && runs.back().cell + runs.back().cells == cell;
        if (goes_on)
          ++runs.back().cells;
        else
          runs.push_back({level, cell, 1, halo});
      });
  }
  for (const auto& [particle, halo] : moment.halo_of_particle)
    if (particle * 7919 % 31 % ranks == rank) members.particles.push_back({particle, halo});
  return members;
}

// Deals the rows to random ranks, in another order.
Members dealt(const comm::Communicator& comm, const Members& members, std::uint64_t seed) {
  test::Dice dice(seed + static_cast<std::uint64_t>(100 * comm.rank()));
  const auto spread = [&](const auto& rows) {
    std::vector<std::decay_t<decltype(rows)>> outgoing(static_cast<std::size_t>(comm.size()));
    for (auto row = rows.rbegin(); row != rows.rend(); ++row)
      outgoing[static_cast<std::size_t>(dice.below(comm.size()))].push_back(*row);
    std::decay_t<decltype(rows)> got;
    for (const auto& of_rank : comm.exchange(outgoing)) got.insert(got.end(), of_rank.begin(), of_rank.end());
    return got;
  };
  return {spread(members.runs), spread(members.particles)};
}

std::vector<TimeLink> links_between(const comm::Communicator& comm, const Moment& earlier, const Moment& now) {
  const LeafField density = test::shared(test::leaves_of(now.mesh, comm.rank(), now.density));
  const Members before = dealt(comm, members_on(earlier, comm.rank(), comm.size()), 5);
  const Members after = members_on(now, comm.rank(), comm.size());
  return comm.broadcast(link_members(comm, before, after, density, now.mesh.geometry));
}

// On a uniform grid with density 1 and the halo that `halo_of` gives for a cell.
Moment moment_of(Int3 cells, int ranks, std::uint64_t seed, std::function<std::int64_t(Int3)> halo_of) {
  return {uniform_mesh(cells, ranks, seed),
          [=](int, Int3 cell) { return halo_of(cell); },
          [](int, Int3) { return 1.0; },
          {}};
}

bool is_in(Int3 cell, Int3 lo, Int3 hi) {
  return Box{lo, hi}.contains(cell);
}

TEST(HaloLinks, FollowAHaloThatMovesAsFarAsItsCellsOverlap) {
  const World world;
  const auto earlier = moment_of({8, 8, 8}, world->size(), 1, [](Int3 c) {
    return is_in(c, {1, 2, 3}, {4, 4, 5}) ? 11 : no_halo;
  });
  const auto now = moment_of({8, 8, 8}, world->size(), 2, [](Int3 c) {
    return is_in(c, {3, 2, 3}, {6, 4, 5}) ? 12 : no_halo;
  });

  EXPECT_THAT(links_between(*world, earlier, now), ElementsAre(TimeLink{11, 12, 4.0, 4.0, 0, true, true}));
}

TEST(HaloLinks, FollowByItsParticlesAHaloThatHasLeftItsCells) {
  const World world;
  auto earlier = moment_of({8, 8, 8}, world->size(), 1, [](Int3 c) {
    return is_in(c, {0, 0, 0}, {2, 2, 2}) ? 1 : no_halo;
  });
  auto now = moment_of({8, 8, 8}, world->size(), 2, [](Int3 c) {
    return is_in(c, {5, 5, 5}, {7, 7, 7}) ? 2 : no_halo;
  });
  earlier.halo_of_particle = {{100, 1}, {101, 1}, {105, 1}};
  now.halo_of_particle = {{101, 2}, {105, 2}, {999, 2}};

  EXPECT_THAT(links_between(*world, earlier, now), ElementsAre(TimeLink{1, 2, 0.0, 0.0, 2, true, true}));
}

TEST(HaloLinks, OfAMergerHaveTheOneWithMoreParticlesAsMainProgenitor) {
  const World world;
  auto earlier = moment_of({8, 8, 8}, world->size(), 3, [](Int3 c) {
    return is_in(c, {0, 0, 0}, {3, 3, 3}) ? 5 : is_in(c, {5, 0, 0}, {7, 3, 3}) ? 6 : no_halo;
  });
  auto now = moment_of({8, 8, 8}, world->size(), 4, [](Int3 c) {
    return is_in(c, {0, 0, 0}, {7, 3, 3}) ? 9 : no_halo;
  });
  const auto by_mass = links_between(*world, earlier, now);
  earlier.halo_of_particle = {{1, 5}, {2, 6}, {3, 6}};
  now.halo_of_particle = {{1, 9}, {2, 9}, {3, 9}};

  const auto by_particles = links_between(*world, earlier, now);

  EXPECT_THAT(by_mass, ElementsAre(TimeLink{5, 9, 27, 27, 0, true, true}, TimeLink{6, 9, 18, 18, 0, false, true}));
  EXPECT_THAT(by_particles, ElementsAre(TimeLink{5, 9, 27, 27, 1, false, true}, TimeLink{6, 9, 18, 18, 2, true, true}));
}

TEST(HaloLinks, OfAHaloThatSplitsHaveTheLargerShareAsMainDescendantAndOfEqualOnesTheSmallerId) {
  const World world;
  const auto earlier = moment_of({9, 4, 4}, world->size(), 3, [](Int3 c) { return c.z == 1 ? 7 : no_halo; });
  const auto now = moment_of({9, 4, 4}, world->size(), 6, [](Int3 c) {
    return c.x < 2 ? 1 : c.x > 3 && c.x < 6 ? 2 : c.x > 7 ? 3 : no_halo;
  });

  EXPECT_THAT(links_between(*world, earlier, now),
              ElementsAre(TimeLink{7, 1, 8, 8, 0, true, true}, TimeLink{7, 2, 8, 8, 0, true, false},
                          TimeLink{7, 3, 4, 4, 0, true, false}));
}

TEST(HaloLinks, AreNoneForAHaloThatIsBornAndOneThatIsGone) {
  const World world;
  const auto earlier = moment_of({8, 8, 8}, world->size(), 1, [](Int3 c) { return c.z < 2 ? 1 : no_halo; });
  const auto now = moment_of({8, 8, 8}, world->size(), 2, [](Int3 c) { return c.z > 5 ? 1 : no_halo; });
  const auto nothing = moment_of({8, 8, 8}, world->size(), 2, [](Int3) { return no_halo; });

  EXPECT_THAT(links_between(*world, earlier, now), IsEmpty());
  EXPECT_THAT(links_between(*world, earlier, nothing), IsEmpty());
  EXPECT_THAT(links_between(*world, nothing, nothing), IsEmpty());
}

TEST(HaloLinks, CrossPeriodicFaces) {
  const World world;
  const auto around = [](int first, std::int64_t id) {
    return [=](Int3 c) {
      const auto inside = [&](int x) { return mesh::wrapped(x - first, 8) < 3; };
      return inside(c.x) && inside(c.y) && inside(c.z) ? id : no_halo;
    };
  };
  const auto earlier = moment_of({8, 8, 8}, world->size(), 1, around(6, 4));
  const auto now = moment_of({8, 8, 8}, world->size(), 2, around(7, 5));

  EXPECT_THAT(links_between(*world, earlier, now), ElementsAre(TimeLink{4, 5, 8, 8, 0, true, true}));
}

// The plain twin: cell by cell of a grid as fine as the finer of both meshes, particle by particle.
std::vector<TimeLink> oracle(const Moment& earlier, const Moment& now) {
  const int finest = std::max(earlier.mesh.finest_level(), now.mesh.finest_level());
  const auto on_finest = [&](const Moment& moment, auto value) {
    RefinedMesh mesh = moment.mesh;
    while (mesh.finest_level() < finest)
      mesh.levels.emplace_back(mesh.refined(mesh.geometry.domain, 0, mesh.finest_level() + 1), periodic,
                               std::vector<Box>{}, std::vector<std::int32_t>{}, mesh.finest_level() + 1);
    return test::spread(mesh, [&](int level, Int3 cell) { return static_cast<double>(value(level, cell)); });
  };
  const Grid before = on_finest(earlier, earlier.halo_of), after = on_finest(now, now.halo_of);
  const Grid density = on_finest(now, now.density);
  struct Sum {
    double cells = 0, mass = 0;
    std::int64_t particles = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Sum> sums;  // by descendant and progenitor
  const auto none = static_cast<double>(no_halo);
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    if (before.values[i] == none || after.values[i] == none) continue;
    Sum& sum = sums[{static_cast<std::int64_t>(after.values[i]), static_cast<std::int64_t>(before.values[i])}];
    sum.cells += 1;
    sum.mass += density.values[i];
  }
  for (const auto& [particle, halo] : earlier.halo_of_particle)
    if (now.halo_of_particle.contains(particle)) ++sums[{now.halo_of_particle.at(particle), halo}].particles;
  const double volume = now.mesh.geometry.volume() / static_cast<double>(before.domain().volume());
  std::vector<TimeLink> links;
  for (const auto& [pair, sum] : sums)
    links.push_back({pair.second, pair.first, sum.cells * volume, sum.mass * volume, sum.particles, true, true});
  for (TimeLink& link : links)
    for (const TimeLink& other : links) {
      const auto a = std::tie(link.shared_particles, link.shared_mass);
      const auto b = std::tie(other.shared_particles, other.shared_mass);
      if (other.descendant == link.descendant && (b > a || (b == a && other.progenitor < link.progenitor)))
        link.is_main_progenitor = false;
      if (other.progenitor == link.progenitor && (b > a || (b == a && other.descendant < link.descendant)))
        link.is_main_descendant = false;
    }
  return links;
}

// Blobs of cells of few halos, as large as a few cells of level 0; particles at random. Densities are whole numbers.
Moment random_moment(RefinedMesh mesh, std::uint64_t seed) {
  const auto halo_of = [seed](int level, Int3 cell) {
    const Int3 coarse{cell.x >> (level + 1), cell.y >> (level + 1), cell.z >> (level + 1)};
    const double u = 0.7 * test::noise(seed, 20, coarse) + 0.3 * test::noise(seed, level, cell);
    return u > 0.6 ? 1000 + static_cast<std::int64_t>(5 * test::noise(seed, 30, coarse)) : no_halo;
  };
  const auto density = [seed](int level, Int3 cell) { return std::floor(8 * test::noise(seed + 9, level, cell)); };
  Moment moment{std::move(mesh), halo_of, density, {}};
  test::Dice dice(seed);
  for (int p = 0; p < 60; ++p) moment.halo_of_particle[dice.below(90)] = 1000 + dice.below(5);
  return moment;
}

TEST(HaloLinks, AreThoseOfTheOracleOnAnyLayoutAndRefinement) {
  const World world;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::Dice dice(seed);
    const Int3 cells{8, 4 + 4 * dice.below(2), seed % 5 == 4 ? 1 : 8};
    const auto mesh_of = [&](int ranks, std::uint64_t which) {
      const int finest = static_cast<int>((seed / 2 + which) % 3);
      return seed % 4 == 0 ? uniform_mesh(cells, ranks, seed + which, 1 + dice.below(12))
                           : test::random_mesh(cells, 4, finest, periodic, ranks, seed + 50 * which);
    };
    const Moment earlier = random_moment(mesh_of(world->size(), 0), 2 * seed);
    const Moment now = random_moment(mesh_of(world->size(), 1), 2 * seed + 1);

    const auto links = links_between(*world, earlier, now);

    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EXPECT_FALSE(links.empty());
    EXPECT_TRUE(links == oracle(earlier, now));
  }
}

TEST(HaloLinks, OfRealNumbersAreTheSameBitsOnAnyLayout) {
  const World world;
  const auto density = [](int level, Int3 cell) { return std::exp(9 * test::noise(4, level, cell)); };
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto moments_on = [&](int ranks) {
      std::pair moments{random_moment(test::random_mesh({8, 8, 8}, 4, 2, periodic, ranks, 30), seed),
                        random_moment(test::random_mesh({8, 8, 8}, 4, 1, periodic, ranks, 31), seed + 1)};
      moments.second.density = density;
      return moments;
    };
    const auto [earlier, now] = moments_on(world->size());
    const auto [earlier_alone, now_alone] = moments_on(1);

    EXPECT_TRUE(links_between(*world, earlier, now) == links_between(world.alone(), earlier_alone, now_alone));
  }
}

TEST(HaloLinks, OfSetsOfParticlesCountTheParticlesOfBoth) {
  const World world;
  std::vector<MemberParticle> earlier, now;
  for (std::int64_t p = world->rank(); p < 50; p += world->size()) earlier.push_back({p - 20, p < 30 ? 1 : 2});
  for (std::int64_t p = world->rank(); p < 40; p += world->size()) now.push_back({p - 20, p < 10 ? 3 : 4});

  const auto links = world->broadcast(link_members(*world, earlier, now));

  EXPECT_THAT(links, ElementsAre(TimeLink{1, 3, 0, 0, 10, true, false}, TimeLink{1, 4, 0, 0, 20, true, true},
                                 TimeLink{2, 4, 0, 0, 10, false, true}));
}

TEST(HaloLinks, OfIdsAtTheEndsOfTheirRangeAreFound) {
  const World world;
  const std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  std::vector<MemberParticle> here;
  if (world->rank() == world->size() - 1) here = {{least, 1}, {most, 2}, {0, 2}};

  const auto links = world->broadcast(link_members(*world, here, here));

  EXPECT_THAT(links, ElementsAre(TimeLink{1, 1, 0, 0, 1, true, true}, TimeLink{2, 2, 0, 0, 2, true, true}));
}

TEST(HaloLinks, TakeEachParticleOnce) {
  const World world;
  const std::vector<MemberParticle> same{{7, 1}};
  std::vector<MemberParticle> twice = same;
  if (world->size() == 1) twice.push_back({7, 2});

  try {
    link_members(*world, twice, {});
    FAIL() << "nothing was thrown";
  } catch (const core::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("two particles have the id 7"));
    EXPECT_FALSE(error.where().empty() || error.hint().empty());
  }
}

mesh::Snapshot snapshot_of(const Moment& moment, std::int64_t step) {
  mesh::Snapshot snapshot;
  snapshot.geometry = moment.mesh.geometry;
  snapshot.levels = moment.mesh.levels;
  snapshot.moment.step = step;
  snapshot.moment.scale_factor = 0.01 * static_cast<double>(step);
  return snapshot;
}

mesh::Result result_of(const comm::Communicator& comm, const Moment& moment, std::int64_t step,
                       const mesh::Result& earlier) {
  mesh::Result result;
  const LeafField density = test::shared(test::leaves_of(moment.mesh, comm.rank(), moment.density));
  const LinkedKind halos{"halo", "Mpc^3", SharedMost::matter, "Msun"};
  add_members_and_links(comm, halos, members_on(moment, comm.rank(), comm.size()), density, snapshot_of(moment, step),
                        earlier, result);
  return result;
}

TEST(HaloLinksInResults, AreFoundFromTheColumnsOfTheResultBefore) {
  const World world;
  const Moment earlier = random_moment(uniform_mesh({8, 8, 8}, world->size(), 1), 1);
  const Moment now = random_moment(uniform_mesh({8, 8, 8}, world->size(), 2), 2);
  const auto expected = oracle(earlier, now);

  const auto first = result_of(*world, earlier, 30, {});
  const auto second = result_of(*world, now, 40, first);

  EXPECT_EQ(first.distributed, (std::set<std::string>{"member_run", "member_particle"}));
  EXPECT_EQ(test::integers(first, "member_run_halo").size(),
            static_cast<std::size_t>(first.dimensions.at("member_run")));
  if (world->rank() != 0) return;
  EXPECT_EQ(first.dimensions.at("link"), 0);
  EXPECT_FALSE(first.attributes.contains("progenitor_step"));
  EXPECT_EQ(std::get<std::int64_t>(second.attributes.at("progenitor_step")), 30);
  EXPECT_EQ(std::get<double>(second.attributes.at("progenitor_scale_factor")), 0.3);
  ASSERT_EQ(test::integers(second, "progenitor").size(), expected.size());
  for (std::size_t l = 0; l < expected.size(); ++l) {
    EXPECT_EQ(test::integers(second, "progenitor")[l], expected[l].progenitor);
    EXPECT_EQ(test::integers(second, "descendant")[l], expected[l].descendant);
    EXPECT_EQ(test::numbers(second, "shared_volume")[l], expected[l].shared_volume);
    EXPECT_EQ(test::numbers(second, "shared_mass")[l], expected[l].shared_mass);
    EXPECT_EQ(test::integers(second, "shared_particles")[l], expected[l].shared_particles);
    EXPECT_EQ(test::integers(second, "is_main_progenitor")[l], expected[l].is_main_progenitor);
    EXPECT_EQ(test::integers(second, "is_main_descendant")[l], expected[l].is_main_descendant);
  }
}

TEST(HaloLinksInResults, OfSetsOfParticlesHaveNoCells) {
  const World world;
  const mesh::Snapshot snapshot = snapshot_of(random_moment(uniform_mesh({4, 4, 4}, world->size(), 1), 1), 8);
  const std::vector<MemberParticle> here{{world->rank(), 3}};
  mesh::Result first, second;

  add_members_and_links(*world, here, snapshot, {}, first);
  add_members_and_links(*world, here, snapshot, first, second);

  EXPECT_EQ(second.distributed, std::set<std::string>{"member_particle"});
  if (world->rank() != 0) return;
  EXPECT_THAT(test::integers(second, "shared_particles"), ElementsAre(world->size()));
  EXPECT_THROW(second.column("shared_mass"), core::Error);
}

std::string complaint_about(const comm::Communicator& comm, const mesh::Result& earlier) {
  try {
    result_of(comm, random_moment(uniform_mesh({4, 4, 4}, comm.size(), 1), 1), 9, earlier);
  } catch (const core::Error& error) {
    EXPECT_FALSE(error.where().empty() || error.hint().empty());
    return error.what();
  }
  return "nothing was thrown";
}

TEST(HaloLinksInResults, AreAnErrorOnAllRanksWhereTheEarlierMembersCannotBe) {
  const World world;
  const bool is_last = world->rank() == world->size() - 1;
  const auto with_run = [&](const MemberRun& run) {
    mesh::Result earlier;
    const auto add = [&](const char* name, std::int64_t value) {
      earlier.add(name, "1", "", {"member_run"}, {is_last}, std::vector<std::int64_t>(is_last ? 1 : 0, value));
    };
    add("member_run_level", run.level);
    add("member_run_cell", run.cell);
    add("member_run_cells", run.cells);
    add("member_run_halo", run.of);
    return complaint_about(*world, earlier);
  };
  mesh::Result doubles, other_grid;
  doubles.add("member_particle_id", "1", "", {"member_particle"}, {0}, std::vector<double>{});
  if (world->rank() == 0) other_grid.attributes["member_grid"] = "8 x 8 x 8";

  EXPECT_THAT(with_run({0, 62, 3, 1}), HasSubstr("leaves its row"));
  EXPECT_THAT(with_run({0, 5, 0, 1}), HasSubstr("has no cells"));
  EXPECT_THAT(with_run({0, 64, 1, 1}), HasSubstr("outside of the domain"));
  EXPECT_THAT(with_run({0, -1, 1, 1}), HasSubstr("outside of the domain"));
  EXPECT_THAT(with_run({-1, 0, 1, 1}), HasSubstr("level that cannot be"));
  EXPECT_THAT(with_run({29, 0, 1, 1}), HasSubstr("more cells than can be counted"));
  EXPECT_THAT(complaint_about(*world, doubles), HasSubstr("`member_particle_id` is not one of integers"));
  EXPECT_THAT(complaint_about(*world, other_grid), HasSubstr("4 x 4 x 4"));
}

}  // namespace
}  // namespace sidestream::analysis
