#include "analysis/halos/halo_order.hpp"

#include <gtest/gtest.h>

#include "analysis/halo_measures/halo_properties.hpp"
#include "analysis/halos/halo_table.hpp"
#include "sidestream/core/random.hpp"
#include "support/delayed_messages.hpp"

namespace sidestream::analysis {
namespace {

mesh::Geometry box_of(mesh::Periodicity periodic) {
  mesh::Geometry geometry;
  geometry.domain = mesh::domain_of({64, 64, 64});
  geometry.length = {10.0, 7.0, 12.0};
  geometry.periodic = periodic;
  return geometry;
}

double uniform(std::uint64_t seed, std::int64_t id, std::uint64_t what) {
  return core::uniform(seed, what, static_cast<std::uint64_t>(id));
}

// Halos with spheres of all sizes, many of them in each other's, some of equal mass or height; a third has none.
std::vector<Halo> some_halos(const mesh::Geometry& geometry, std::uint64_t seed, std::int64_t count) {
  std::vector<Halo> halos(static_cast<std::size_t>(count));
  for (std::int64_t id = 0; id < count; ++id) {
    Halo& halo = halos[static_cast<std::size_t>(id)];
    halo.id = 1000 + id;
    halo.mass = std::floor(20.0 * uniform(seed, id, 1));
    halo.peak = std::floor(100.0 * uniform(seed, id, 2));
    for (std::size_t axis = 0; axis < 3; ++axis)
      halo.peak_position[axis] = geometry.length[axis] * uniform(seed, id, 3 + axis);
    const double size = uniform(seed, id, 6);
    if (id % 3 != 0) halo.spheres[0].radius = 3.4 * size * size * size * size;
  }
  return halos;
}

class HaloOrder : public testing::TestWithParam<mesh::Periodicity> {
 protected:
  const comm::Communicator world_{MPI_COMM_WORLD}, self_{MPI_COMM_SELF};
};
INSTANTIATE_TEST_SUITE_P(Boxes, HaloOrder,
                         testing::Values(mesh::Periodicity{true, true, true}, mesh::Periodicity{false, true, false}));

TEST_P(HaloOrder, ASpreadCatalogueIsTheOneOnTheFirstRankInWhateverOrderMessagesCome) {
  const mesh::Geometry geometry = box_of(GetParam());
  for (const std::int64_t count : {0, 1, 3, 60, 700}) {
    const auto all = some_halos(geometry, 5, count);
    std::vector<Halo> mine;
    for (std::size_t h = 0; h < all.size(); ++h)
      if (static_cast<int>(h * 7 % 5) % world_.size() == world_.rank()) mine.push_back(all[h]);
    const auto expected = catalogue_of(self_, geometry, all);
    const test::DelayedMessages delayed(static_cast<std::uint64_t>(count));

    const FoundHalos gathered = catalogue_of(world_, geometry, mine);
    FoundHalos spread = catalogue_of(world_, geometry, mine, 0);

    EXPECT_EQ(spread.is_spread, count > 0);
    EXPECT_FALSE(gathered.is_spread);
    EXPECT_EQ(gathered.halos, world_.rank() == 0 ? expected.halos : std::vector<Halo>());
    EXPECT_TRUE(count < 700 || world_.size() == 1 || spread.halos.size() < all.size());
    EXPECT_EQ(all_halos(world_, std::move(spread)), world_.rank() == 0 ? expected.halos : std::vector<Halo>());
    const auto inside = std::ranges::count_if(expected.halos, [](const Halo& halo) { return halo.inside >= 0; });
    EXPECT_TRUE(world_.rank() != 0 || count < 700 || inside > 100) << inside;
  }
}

TEST_P(HaloOrder, ATableOfASpreadCatalogueHasItsRowsWhereTheHalosAre) {
  const mesh::Geometry geometry = box_of(GetParam());
  std::vector<Halo> mine = world_.rank() == 0 ? some_halos(geometry, 2, 100) : std::vector<Halo>();
  HaloColumns columns;
  columns.density_unit = "Msun/Mpc^3";

  const FoundHalos spread = catalogue_of(world_, geometry, mine, 0);
  const mesh::Result part = spread_halo_table(world_, spread, columns);

  EXPECT_EQ(part.distributed, (std::set<std::string>{"halo"}));
  EXPECT_EQ(part.dimensions.at("halo"), static_cast<std::int64_t>(spread.halos.size()));
  EXPECT_EQ(part.summary, world_.rank() == 0 ? "100 halos" : "");
}

}  // namespace
}  // namespace sidestream::analysis
