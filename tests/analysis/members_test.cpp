// What halos consist of, and the task that links them.
#include "analysis/links/members.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analysis/halos/halo_finder.hpp"
#include "analysis/refined_mesh.hpp"
#include "analysis/run.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Grid;
using test::RefinedMesh;

constexpr mesh::Periodicity periodic{true, true, true};

// One particle in each cell of the finest level, on any rank; its id is the index of the cell.
mesh::Particles particles_everywhere(const RefinedMesh& mesh, const comm::Communicator& comm) {
  mesh::Particles particles;
  particles.mass = 1.0;
  const Grid grid(mesh.finest_cells());
  core::for_each_cell(grid.domain(), [&](int k, int j, int i) {
    const std::int64_t id = grid.index(k, j, i);
    if (id % comm.size() != comm.rank()) return;
    particles.id.push_back(id);
    const std::array cell{i, j, k};
    for (std::size_t axis = 0; axis < 3; ++axis)
      particles.position[axis].push_back((cell[axis] + 0.5) * mesh.geometry.length[axis] /
                                         grid.cells[static_cast<int>(axis)]);
  });
  return particles;
}

// Cell by cell, from the halos there are and what `halo_membership` says. Runs of one cell each.
Members expected_members(const RefinedMesh& mesh, const std::vector<mesh::Field<std::int64_t>>& membership,
                         const std::set<std::int64_t>& halos) {
  Members members;
  const Grid grid(mesh.finest_cells());
  for (int level = 0; level <= mesh.finest_level(); ++level) {
    const auto& ids = membership[static_cast<std::size_t>(level)];
    for (int b = 0; b < ids.blocks(); ++b)
      core::for_each_cell(ids.box(b), [&, view = ids.view(b)](int k, int j, int i) {
        const std::int64_t halo = view(k, j, i);
        if (!halos.contains(halo)) return;
        members.runs.push_back({level, linear_index(ids.layout().domain(), {i, j, k}), 1, halo});
        core::for_each_cell(mesh.finest_cells_of({i, j, k}, level), [&](int z, int y, int x) {
          members.particles.push_back({grid.index(z, y, x), halo});
        });
      });
  }
  std::sort(members.particles.begin(), members.particles.end());
  return members;
}

class MembersOf : public testing::TestWithParam<int> {};  // the finest level
INSTANTIATE_TEST_SUITE_P(ByLevel, MembersOf, testing::Values(0, 2));

TEST_P(MembersOf, HalosAreTheirCellsAndTheParticlesInThem) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const RefinedMesh mesh = test::random_mesh({8, 8, 8}, 4, GetParam(), periodic, world.size(), seed);
    const auto value = [&](int level, Int3 cell) { return test::noise(seed, level, cell); };
    const LeafField field = test::shared(test::leaves_of(mesh, world.rank(), value));
    const mesh::Particles particles = particles_everywhere(mesh, world);
    HaloMeasures measures;
    measures.particles = &particles;
    const HaloCriteria criteria{0.85, 0.93, Connectivity::freudenthal, seed % 2 == 0 ? 1 : 4};

    auto [halos, members, is_spread, largest] = find_catalogue(world, field, mesh.geometry, criteria, measures, true);

    std::set<std::int64_t> ids;
    for (const Halo& halo : world.broadcast(halos)) ids.insert(halo.id);
    const Members expected = expected_members(mesh, halo_membership(world, field, criteria), ids);
    std::vector<MemberRun> cells;
    for (const MemberRun& run : members.runs)
      for (std::int64_t c = 0; c < run.cells; ++c) cells.push_back({run.level, run.cell + c, 1, run.of});
    std::sort(members.particles.begin(), members.particles.end());
    EXPECT_GT(ids.size(), 1U);
    EXPECT_TRUE(cells == expected.runs) << "seed " << seed;
    EXPECT_TRUE(members.particles == expected.particles) << "seed " << seed;
  }
}

TEST(MembersOf, NoHalosAreNone) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = mesh::split(mesh::domain_of({8, 8, 8}), {1, 1, world.size()});
  const auto field = Grid({8, 8, 8}, 1.0).on(layout, world.rank());

  const auto found =
      find_catalogue(world, LeafField{field}, test::unit_cells({8, 8, 8}), HaloCriteria{2.0, 3.0}, {}, true);

  EXPECT_TRUE(found.halos.empty() && found.members.runs.empty() && found.members.particles.empty());
}

// --- the task

constexpr Int3 cells{16, 12, 8};
constexpr double side = 14.2;

// A snapshot whose halos have moved by `shift` cells along x, and their particles with them.
struct Moment {
  mesh::Particles particles;
  mesh::Snapshot snapshot;

  Moment(const mesh::Layout& layout, const comm::Communicator& comm, int shift) {
    snapshot = test::snapshot_on(layout, side);
    snapshot.moment.step = 10 + shift;
    snapshot.add_species({mesh::dark_matter, &particles});
    const Grid density = Grid::of(cells, [](int k, int j, int i) {
      return std::exp(3 * core::normal(5, 1, static_cast<std::uint64_t>((k / 2 * 100 + j / 2) * 100 + i / 2)));
    });
    snapshot.add({"dark_matter_density", "Msun/Mpc^3"}, density.rolled({shift, 0, 0}).on(layout, comm.rank()));
    core::for_each_cell(density.domain(), [&](int k, int j, int i) {
      const Int3 cell{mesh::wrapped(i + shift, cells.x), j, k};
      if (layout.owner(layout.find(cell)) != comm.rank()) return;
      particles.id.push_back(density.index(k, j, i));
      for (int axis = 0; axis < 3; ++axis)
        particles.position[static_cast<std::size_t>(axis)].push_back((cell[axis] + 0.5) * side / cells[axis]);
    });
  }
};

mesh::Result second_of_two(const comm::Communicator& comm, const std::array<mesh::Layout, 2>& layouts) {
  const auto task = test::analysis_of("analysis = 'halos'\nlink = true\nt_boundary = '2 mean'\nt_halo = '6 mean'");
  const Moment first(layouts[0], comm, 0), second(layouts[1], comm, 5);
  const mesh::Result earlier = task->run_after(comm, first.snapshot, {});
  return task->run_after(comm, second.snapshot, earlier);
}

TEST(HalosTask, ThatLinksLooksBackAndReadsParticles) {
  const auto task = test::analysis_of("analysis = 'halos'\nlink = true"),
             plain = test::analysis_of("analysis = 'halos'");

  EXPECT_TRUE(task->looks_back() && !task->species().empty());
  EXPECT_FALSE(plain->looks_back() || !plain->species().empty());
}

TEST(HalosTask, ThatLinksFollowsHalosThatMoveAsAWhole) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto layout = test::random_layout(cells, periodic, world.size(), 9, 1);

  const auto result = second_of_two(world, {layout, layout});

  if (world.rank() != 0) return;
  EXPECT_EQ(std::get<std::int64_t>(result.attributes.at("progenitor_step")), 10);
  ASSERT_GT(result.dimensions.at("halo"), 2);
  ASSERT_EQ(result.dimensions.at("halo"), std::ranges::count(test::integers(result, "is_main_progenitor"), 1));
  const auto& ids = test::integers(result, "id");
  for (std::size_t l = 0; l < static_cast<std::size_t>(result.dimensions.at("link")); ++l) {
    if (test::integers(result, "shared_particles")[l] == 0) continue;  // of halos that lie where another was
    const auto halo =
        static_cast<std::size_t>(std::ranges::find(ids, test::integers(result, "descendant")[l]) - ids.begin());
    ASSERT_LT(halo, ids.size());
    EXPECT_EQ(test::integers(result, "shared_particles")[l], test::integers(result, "cells")[halo]);
    EXPECT_EQ(test::integers(result, "is_main_progenitor")[l], 1);
  }
}

// The result on rank 0 with the rows of all ranks, as a file has them; without columns elsewhere.
mesh::Result whole(const comm::Communicator& comm, mesh::Result result) {
  for (mesh::Column& column : result.columns)
    if (result.distributed.contains(column.dimensions[0]))
      column.values = comm.gather(std::span<const std::int64_t>(std::get<std::vector<std::int64_t>>(column.values)));
  if (comm.rank() != 0) result.columns.clear();
  return result;
}

TEST(HalosTask, ThatLinksGivesTheSameBitsOnAnyLayout) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const auto alone = whole(self, second_of_two(self, {test::one_box(cells), test::one_box(cells)}));
  EXPECT_GT(test::integers(alone, "member_particle_id").size(), 20U);
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const auto together =
        whole(world, second_of_two(world, {test::random_layout(cells, periodic, world.size(), 9, seed),
                                           test::random_layout(cells, periodic, world.size(), 5, seed + 9)}));

    if (world.rank() == 0)
      EXPECT_TRUE(test::are_identical(together, alone)) << "seed " << seed;
    else
      EXPECT_TRUE(together.columns.empty());
  }
}

// Three clumps of 30 particles each, of ids from 100, 200 and 300 on, around `centers` along x.
mesh::Result groups_of(const comm::Communicator& comm, const std::array<double, 3>& centers, const std::string& more,
                       const mesh::Result& earlier) {
  const auto layout = test::random_layout(cells, periodic, comm.size(), 9, 1);
  mesh::Particles particles;
  particles.mass = 2.0;
  mesh::Snapshot snapshot = test::snapshot_on(layout, side);
  snapshot.moment.step = earlier.columns.empty() ? 10 : 20;
  snapshot.add_species({mesh::dark_matter, &particles});
  for (int clump = 0; clump < 3; ++clump)
    for (int p = 0; p < 30; ++p) {
      const double x = centers[static_cast<std::size_t>(clump)] + 0.01 * p;
      if (layout.owner(layout.find(mesh::cell_of(snapshot.geometry, {x, 7.0, 7.0}))) != comm.rank()) continue;
      particles.id.push_back(100 * (clump + 1) + p);
      for (std::size_t axis = 0; axis < 3; ++axis) particles.position[axis].push_back(axis == 0 ? x : 7.0);
    }
  snapshot.add({"dark_matter_density", "Msun/Mpc^3"}, Grid(cells, 1.0).on(layout, comm.rank()));
  return test::analysis_of("analysis = 'halos'\nfinder = 'fof'\nlink = true\n" + more)
      ->run_after(comm, snapshot, earlier);
}

TEST(HalosTask, ThatLinksFollowsGroupsByTheirParticles) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto first = groups_of(world, {2.0, 6.0, 10.0}, "", {});
  const auto second = groups_of(world, {9.0, 9.4, 2.0}, "", first);

  EXPECT_EQ(second.distributed, std::set<std::string>{"member_particle"});
  const mesh::Result rows = whole(world, second);
  if (world.rank() != 0) return;
  const auto &halos = test::integers(rows, "member_particle_halo"),
             &particles = test::integers(rows, "member_particle_id");
  ASSERT_EQ(particles.size(), 90U);
  for (std::int64_t n = 0; n < 90; ++n) {  // of the halos 100, which holds two clumps, and 300, by id
    EXPECT_EQ(halos[static_cast<std::size_t>(n)], n < 60 ? 100 : 300);
    EXPECT_EQ(particles[static_cast<std::size_t>(n)], 100 * (n / 30 + 1) + n % 30);
  }
  EXPECT_THAT(test::integers(first, "id"), testing::ElementsAre(100, 200, 300));
  EXPECT_THAT(test::integers(second, "id"), testing::ElementsAre(100, 300));
  EXPECT_THAT(test::integers(second, "progenitor"), testing::ElementsAre(100, 200, 300));
  EXPECT_THAT(test::integers(second, "descendant"), testing::ElementsAre(100, 100, 300));
  EXPECT_THAT(test::integers(second, "shared_particles"), testing::ElementsAre(30, 30, 30));
  EXPECT_THAT(test::integers(second, "is_main_progenitor"), testing::ElementsAre(1, 0, 1));
}

TEST(HalosTask, ThatLinksHasNoMembersOfGroupsThatAreLeftOut) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = groups_of(world, {1.8, 6.0, 10.5}, "min_cells = 2", {});  // cells have a side of 0.8875 along x

  const auto members = test::integers(result, "member_particle_halo");
  EXPECT_EQ(world.sum(std::ranges::count(members, 300)), 30);
  EXPECT_EQ(world.sum(std::ranges::count(members, 100)), 0);
  if (world.rank() != 0) return;
  EXPECT_THAT(test::integers(result, "id"), testing::ElementsAre(200, 300));
}

}  // namespace
}  // namespace sidestream::analysis
