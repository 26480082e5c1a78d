// What the gas solver offers to refined meshes: fluxes through the sides of blocks, idle blocks, energies that follow.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "sidestream/amr/flux_register.hpp"
#include "sidestream/core/random.hpp"
#include "sidestream/mesh/hierarchy.hpp"
#include "solvers/hydro/hydro_sweep.hpp"
#include "support/gas_run.hpp"
#include "support/world.hpp"

namespace sidestream::test {
namespace {

using namespace solvers;
using mesh::Box;
using mesh::Int3;
using test::world;

mesh::Field<double> copy_of(const mesh::Field<double>& field) {
  mesh::Field<double> copy(field.layout(), 0, field.components(), field.ghosts());
  std::ranges::copy(field.all(), copy.all().begin());
  return copy;
}

/// Noise of a cell's position, ghost cells included: no exchange is needed.
void fill_with_noise(mesh::Field<double>& state, bool is_flat_in_z) {
  const Box domain = state.layout().domain();
  for (int b = 0; b < state.blocks(); ++b) {
    const auto u = state.view(b);
    core::for_each_cell(state.box(b).grown(state.ghost()), [&](int k, int j, int i) {
      const Int3 n = domain.extent();
      const Int3 cell{mesh::wrapped(i, n.x), mesh::wrapped(j, n.y), is_flat_in_z ? 0 : mesh::wrapped(k, n.z)};
      const auto noise = [&](std::uint64_t stream) {
        return core::normal(3, stream, static_cast<std::uint64_t>(linear_index(domain, cell)));
      };
      const double rho = std::exp(0.3 * noise(0)), internal = std::exp(0.3 * noise(4));
      u(density, k, j, i) = rho;
      for (int axis = 0; axis < 3; ++axis)
        u(momentum_x + axis, k, j, i) = 0.4 * rho * noise(static_cast<std::uint64_t>(1 + axis));
      u(internal_energy, k, j, i) = internal;
      u(total_energy, k, j, i) =
          internal + kinetic_energy(rho, u(momentum_x, k, j, i), u(momentum_y, k, j, i), u(momentum_z, k, j, i));
    });
  }
}

HydroConfig conserving() {
  HydroConfig config;
  config.dual_energy_eta = 0.0;
  return config;
}

/// Fluxes through all sides of one box.
struct AllSides {
  AllSides(const Box& box, const std::array<bool, 3>& active) {
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t high = 0; high < 2; ++high) {
        if (!active[axis]) continue;
        const int a = static_cast<int>(axis);
        Box faces = box;
        faces.lo[a] = high == 1 ? box.hi[a] : box.lo[a];
        faces.hi[a] = faces.lo[a] + 1;
        auto& data = data_[axis][high];
        data.assign(static_cast<std::size_t>(5 * faces.volume()), 0.0);
        const Int3 n = faces.extent();
        faces_[axis][high] = faces;
        views[axis][high] = {data.data(), faces.lo.x, faces.lo.y, faces.lo.z, n.x, n.y, n.z, 5};
      }
  }
  /// What flows into the box, times `ratio` (dt / dx) of each axis.
  double inflow(int component, const std::array<double, 3>& ratio) const {
    core::ExactSum sum;
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t high = 0; high < 2; ++high)
        core::for_each_cell(faces_[axis][high], [&](int k, int j, int i) {
          sum.add((high == 1 ? -1.0 : 1.0) * ratio[axis] * views[axis][high](component, k, j, i));
        });
    return sum.value();
  }
  const Box& faces(int axis, int high) const {
    return faces_[static_cast<std::size_t>(axis)][static_cast<std::size_t>(high)];
  }

  amr::SideViews views{};

 private:
  std::array<std::array<Box, 2>, 3> faces_{};
  std::array<std::array<std::vector<double>, 2>, 3> data_;
};

double sum_over(const Box& box, core::View4<const double> view, int component) {
  core::ExactSum sum;
  core::for_each_cell(box, [&](int k, int j, int i) { sum.add(view(component, k, j, i)); });
  return sum.value();
}

/// A domain cut in two across `axis`.
struct Halves {
  Int3 cells;
  int axis;
};
class SidesOfTwoBlocks : public testing::TestWithParam<Halves> {};

TEST_P(SidesOfTwoBlocks, AccountForWhatEachGainsAndAgreeToTheBitAtTheSharedFace) {
  const auto [cells, axis] = GetParam();
  const auto geometry = geometry_of(cells, {1.0, 1.2, 0.9});
  Int3 parts{1, 1, 1};
  parts[axis] = 2;
  mesh::Field<double> state(
      mesh::Layout(geometry.domain, geometry.periodic,
                   {mesh::split(geometry.domain, parts).box(0), mesh::split(geometry.domain, parts).box(1)}, {0, 0}),
      0, gas_components, hydro_ghost);
  fill_with_noise(state, cells.z == 1);
  const std::array<bool, 3> active{cells.x > 1, cells.y > 1, cells.z > 1};
  const double dt = 0.5 * Hydro(conserving(), geometry).largest_step(state);
  std::array<double, 3> ratio{};
  for (std::size_t a = 0; a < 3; ++a)
    if (active[a]) ratio[a] = dt / geometry.cell_size(static_cast<int>(a));
  std::vector<AllSides> sides;

  for (int b = 0; b < 2; ++b) {
    const Box box = state.box(b);
    sides.emplace_back(box, active);
    HydroSweep sweep(conserving(), ratio, active, box.extent(), false);
    mesh::Field<double> advanced = copy_of(state);
    Repairs repairs;
    sweep.advance(box, advanced.view(b), repairs, sides.back().views);
    ASSERT_EQ(repairs.cells, 0);

    for (int c = 0; c < 5; ++c)
      EXPECT_NEAR(sum_over(box, advanced.view(b), c) - sum_over(box, state.view(b), c), sides.back().inflow(c, ratio),
                  1e-13 * static_cast<double>(box.volume()))
          << c;
  }

  int different = 0, faces = 0;
  const auto a = static_cast<std::size_t>(axis);
  ASSERT_EQ(sides[0].faces(axis, 1), sides[1].faces(axis, 0));
  core::for_each_cell(sides[0].faces(axis, 1), [&](int k, int j, int i) {
    for (int c = 0; c < 5; ++c) different += sides[0].views[a][1](c, k, j, i) != sides[1].views[a][0](c, k, j, i);
    faces += sides[0].views[a][1](density, k, j, i) != 0.0;
  });
  EXPECT_EQ(different, 0);
  EXPECT_EQ(faces, sides[0].faces(axis, 1).volume());
}

INSTANTIATE_TEST_SUITE_P(Hydro, SidesOfTwoBlocks,
                         testing::Values(Halves{{14, 6, 5}, 0}, Halves{{7, 12, 5}, 1}, Halves{{6, 5, 14}, 2},
                                         Halves{{14, 9, 1}, 0}, Halves{{7, 12, 1}, 1}, Halves{{20, 1, 1}, 0}));

/// A domain, and the rows of the slices that it is swept in.
struct Slices {
  Int3 cells;
  std::vector<std::int32_t> rows;
};
class SweepInSlices : public testing::TestWithParam<Slices> {};

TEST_P(SweepInSlices, EqualsASweepOfTheWholeAndFindsTheSameRepairs) {
  const auto& [cells, rows] = GetParam();
  const auto geometry = geometry_of(cells, {1.0, 1.0, 1.0});
  mesh::Field<double> whole(mesh::split(geometry.domain, {1, 1, 1}), 0, gas_components, hydro_ghost);
  fill_with_noise(whole, cells.z == 1);
  const std::array<bool, 3> active{cells.x > 1, cells.y > 1, cells.z > 1};
  std::array<double, 3> ratio{};
  for (std::size_t a = 0; a < 3; ++a)
    if (active[a]) ratio[a] = 1.5;  // so long a step that some cells come out unphysical
  mesh::Field<double> sliced = copy_of(whole);
  Repairs of_whole, of_slices;

  HydroSweep(conserving(), ratio, active, cells, false).advance(geometry.domain, whole.view(0), of_whole);
  HydroSweep sweep(conserving(), ratio, active, {cells.x, rows.front(), cells.z}, true);
  Box slice = geometry.domain;
  for (const std::int32_t each : rows) {
    slice.hi.y = slice.lo.y + each;
    sweep.advance(slice, sliced.view(0), of_slices, {}, 1.0, slice.lo.y > 0);
    slice.lo.y = slice.hi.y;
  }

  EXPECT_EQ(slice.hi.y, cells.y);
  EXPECT_TRUE(std::ranges::equal(whole.all(), sliced.all(), [](double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  }));
  const auto order = [](const CellBefore& each) { return std::array{each.cell.z, each.cell.y, each.cell.x}; };
  std::ranges::sort(of_whole.touched, {}, order);
  std::ranges::sort(of_slices.touched, {}, order);
  EXPECT_GT(of_whole.cells, 0);
  EXPECT_EQ(of_whole.cells, of_slices.cells);
  EXPECT_TRUE(std::ranges::equal(of_whole.touched, of_slices.touched, [](const CellBefore& a, const CellBefore& b) {
    return a.cell == b.cell && a.gas == b.gas;
  }));
}

INSTANTIATE_TEST_SUITE_P(Hydro, SweepInSlices,
                         testing::Values(Slices{{9, 20, 6}, {8, 8, 4}}, Slices{{17, 13, 9}, {6, 6, 1}},
                                         Slices{{16, 24, 1}, {8, 8, 8}}));

/// A level whose blocks are the children of the middle one of 3^d root blocks.
mesh::Hierarchy with_refined_middle(Int3 cells, std::int32_t block) {
  const Int3 middle{cells.x > 1 ? 1 : 0, cells.y > 1 ? 1 : 0, cells.z > 1 ? 1 : 0};
  const std::vector<mesh::BlockKey> refined{{0, middle}};
  const mesh::Geometry geometry = geometry_of(cells, {1.0, 1.0, 1.0});
  return {mesh::Forest(cells, block, geometry.periodic, refined), geometry, world().size()};
}

/// What flowed into the region of the blocks of this rank in a step through the sides that were asked for.
double inflow(const mesh::Field<double>& state, amr::SideFluxes& fluxes, const mesh::Geometry& geometry, int component,
              double dt) {
  core::ExactSum sum;
  for (int b = 0; b < state.blocks(); ++b) {
    const amr::SideViews views = fluxes.views(b);
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (std::size_t high = 0; high < 2; ++high) {
        if (views[axis][high].components() == 0) continue;
        const int a = static_cast<int>(axis);
        Box faces = state.box(b);
        faces.lo[a] = high == 1 ? faces.hi[a] : faces.lo[a];
        faces.hi[a] = faces.lo[a] + 1;
        const double factor = (high == 1 ? -dt : dt) / geometry.cell_size(a);
        core::for_each_cell(faces,
                            [&](int k, int j, int i) { sum.add(factor * views[axis][high](component, k, j, i)); });
      }
  }
  return world().sum(sum);
}

double total(const mesh::Field<double>& state, int component) {
  core::ExactSum sum;
  for (int b = 0; b < state.blocks(); ++b) {
    const auto view = state.view(b);
    core::for_each_cell(state.box(b), [&](int k, int j, int i) { sum.add(view(component, k, j, i)); });
  }
  return world().sum(sum);
}

class RefinedRegion : public testing::TestWithParam<std::pair<Int3, std::int32_t>> {};

TEST_P(RefinedRegion, ChangesByTheFluxesThroughItsOutside) {
  const auto [cells, block] = GetParam();
  const mesh::Hierarchy hierarchy = with_refined_middle(cells, block);
  const mesh::Geometry geometry = hierarchy.geometry(1);
  mesh::Field<double> state(hierarchy.layout(1), world().rank(), gas_components, hydro_ghost);
  fill_with_noise(state, cells.z == 1);
  mesh::Field<double> plain(hierarchy.layout(1), world().rank(), gas_components, hydro_ghost);
  fill_with_noise(plain, cells.z == 1);
  std::array<double, 5> before{};
  for (int c = 0; c < 5; ++c) before[static_cast<std::size_t>(c)] = total(state, c);
  const Hydro hydro(conserving(), geometry);
  const double dt = 0.5 * world().min(hydro.largest_step(state));
  amr::SideFluxes fluxes(hierarchy, 1, world().rank(), 5);

  const HydroBooks counts = hydro.advance(state, dt, &fluxes);
  hydro.advance(plain, dt);

  EXPECT_EQ(world().sum(counts.first_order_cells), 0);
  for (int c = 0; c < 5; ++c) {
    const double inside = inflow(state, fluxes, geometry, c, dt);
    EXPECT_NEAR(total(state, c) - before[static_cast<std::size_t>(c)], inside, 1e-12 * before[density]) << c;
    EXPECT_NE(inside, 0.0);
  }
  EXPECT_TRUE(std::ranges::equal(state.all(), plain.all()));
}

INSTANTIATE_TEST_SUITE_P(Hydro, RefinedRegion,
                         testing::Values(std::pair{Int3{24, 24, 24}, 8}, std::pair{Int3{120, 120, 1}, 40},
                                         std::pair{Int3{48, 1, 1}, 16}));

TEST(IdleBlocks, AreLeftAsTheyWere) {
  const mesh::Hierarchy hierarchy = with_refined_middle({24, 24, 24}, 8);
  mesh::Field<double> state(hierarchy.layout(1), world().rank(), gas_components, hydro_ghost);
  mesh::Field<double> all(hierarchy.layout(1), world().rank(), gas_components, hydro_ghost);
  mesh::Field<double> old(hierarchy.layout(1), world().rank(), gas_components, hydro_ghost);
  for (mesh::Field<double>* field : {&state, &all, &old}) fill_with_noise(*field, false);
  std::vector<BlockUse> uses(static_cast<std::size_t>(state.blocks()), BlockUse::leaf);
  for (std::size_t b = 0; b < uses.size(); b += 2) uses[b] = BlockUse::idle;
  const Hydro hydro(conserving(), hierarchy.geometry(1));

  hydro.advance(state, 1e-3, nullptr, uses);
  hydro.advance(all, 1e-3);

  for (int b = 0; b < state.blocks(); ++b) {
    const bool is_idle = uses[static_cast<std::size_t>(b)] == BlockUse::idle;
    EXPECT_TRUE(std::ranges::equal(state.block(b), is_idle ? old.block(b) : all.block(b)));
    EXPECT_FALSE(std::ranges::equal(state.block(b), is_idle ? all.block(b) : old.block(b)));
  }
}

TEST(SideFluxes, StayThoseOfTheUpdateWhereCellsFallBackToFirstOrder) {
  const comm::Communicator alone(MPI_COMM_SELF);
  const auto geometry = geometry_of({8, 8, 8}, {1.0, 1.0, 1.0});
  GasRun run(alone, geometry, mesh::Forest({8, 8, 8}, 4).layout(1), conserving());
  const redistribute::GhostFill ghosts(alone, run.state().layout(), hydro_ghost);
  const Hydro hydro(conserving(), geometry);
  run.start(cold_and_tangled);
  HydroBooks counts;

  for (int step = 0; step < 50 && counts.first_order_cells == 0; ++step) {
    ghosts.fill(run.state());
    const double dt = run.largest_step(), ratio = dt / geometry.cell_size(0);
    HydroSweep sweep(conserving(), {ratio, ratio, ratio}, {true, true, true}, {4, 4, 4}, false);
    mesh::Field<double> advanced = copy_of(run.state());
    std::vector<double> expected;
    for (int b = 0; b < run.state().blocks(); ++b) {
      const Box box = run.state().box(b);
      AllSides sides(box, {true, true, true});
      Repairs repairs;
      sweep.advance(box, advanced.view(b), repairs, sides.views);
      expected.push_back(sum_over(box, run.state().view(b), density) + sides.inflow(density, {ratio, ratio, ratio}));
    }

    counts = hydro.advance(run.state(), dt);

    ASSERT_EQ(counts.density_floors, 0);
    for (int b = 0; b < run.state().blocks(); ++b)
      EXPECT_NEAR(sum_over(run.state().box(b), run.state().view(b), density), expected[static_cast<std::size_t>(b)],
                  1e-12 * 64);
  }
  EXPECT_GT(counts.first_order_cells, 0);
}

TEST(FollowTotalEnergy, SetsTheHeatOrKeepsItWhereNoneWouldBeLeft) {
  const Box cells{{0, 0, 0}, {2, 1, 1}};
  mesh::Field<double> state(mesh::split(cells, {1, 1, 1}), 0, gas_components, 1);
  const auto u = state.view(0);
  for (int i = 0; i < 2; ++i) {
    u(density, 0, 0, i) = 2.0;
    u(momentum_x, 0, 0, i) = 4.0;  // kinetic energy 4
    u(internal_energy, 0, 0, i) = 0.5;
  }
  u(total_energy, 0, 0, 0) = 4.75;
  u(total_energy, 0, 0, 1) = 3.0;

  EXPECT_EQ(follow_total_energy(HydroConfig{}, u, cells), 0);
  EXPECT_EQ(u(internal_energy, 0, 0, 0), 0.5);
  EXPECT_EQ(u(total_energy, 0, 0, 1), 3.0);

  EXPECT_EQ(follow_total_energy(conserving(), u, cells), 1);
  EXPECT_EQ(u(internal_energy, 0, 0, 0), 0.75);
  EXPECT_EQ(u(internal_energy, 0, 0, 1), 0.5);
  EXPECT_EQ(u(total_energy, 0, 0, 1), 4.5);
}

}  // namespace
}  // namespace sidestream::test
