#include <gtest/gtest.h>

#include "analysis/grid.hpp"
#include "sims/quantities/common_quantities.hpp"

namespace sidestream::sims {
namespace {

TEST(Example, FollowsFromTheOthersCellByCell) {
  const mesh::Layout layout = test::one_box({4, 3, 2});
  mesh::Snapshot snapshot = test::snapshot_on(layout, 1.0);
  const test::Grid total = test::random_field({4, 3, 2}, 1), internal = test::random_field({4, 3, 2}, 2);
  snapshot.add({"gas_total_energy", "erg"}, total.on(layout, 0));
  snapshot.add({"gas_internal_energy", "erg"}, internal.on(layout, 0));

  add_common_quantities(snapshot);

  const auto found = snapshot.field("example");
  EXPECT_EQ(snapshot.unit("example"), "erg");
  core::for_each_cell(total.domain(), [&, view = found.view(0)](int k, int j, int i) {
    EXPECT_EQ(view(k, j, i), total(k, j, i) - internal(k, j, i));
  });
}

TEST(Example, IsOfSimulationsThatHaveWhatItFollowsFrom) {
  EXPECT_EQ(find(with_common_quantities({{"dark_matter_density", "1"}}), "example"), nullptr);
  EXPECT_NE(find(with_common_quantities({{"gas_total_energy", "1"}, {"gas_internal_energy", "1"}}), "example"),
            nullptr);
}

}  // namespace
}  // namespace sidestream::sims
