// Quantities that show vortices, and their regions and pictures by analyses that know nothing of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/flow_fields.hpp"
#include "analysis/run.hpp"
#include "sidestream/analysis/vortices.hpp"

namespace sidestream::analysis {
namespace {

using std::numbers::pi;
using test::FlowGrids;
using test::Grid;

constexpr mesh::Periodicity periodic{true, true, true};
constexpr std::array<double, 3> two_pi{2 * pi, 2 * pi, 2 * pi};

// The largest difference of a quantity from what is expected.
template <typename F>
double largest_error(const mesh::Snapshot& snapshot, const std::string& name, F expected) {
  double error = 0.0;
  const auto field = snapshot.field(name);
  const mesh::Int3 cells = snapshot.geometry.domain.extent();
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      const double wanted = expected(2 * pi * i / cells.x, 2 * pi * j / cells.y, 2 * pi * k / cells.z);
      error = std::max(error, std::fabs(view(k, j, i) - wanted));
    });
  return error;
}

TEST(Vortices, OfTaylorAndGreenAreTheirs) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const mesh::Int3 cells{12, 16, 10};
  const auto layout = test::random_layout(cells, periodic, world.size(), 7, 2);
  auto snapshot = test::flow_snapshot(test::taylor_green(cells), layout, two_pi, world.rank());

  add_vortex_quantities(world, snapshot);

  const auto curl_x = [](double x, double y, double z) { return -std::cos(x) * std::sin(y) * std::sin(z); };
  const auto curl_y = [](double x, double y, double z) { return -std::sin(x) * std::cos(y) * std::sin(z); };
  const auto curl_z = [](double x, double y, double z) { return 2 * std::sin(x) * std::sin(y) * std::cos(z); };
  EXPECT_LT(largest_error(snapshot, "vorticity_x", curl_x), 1e-13);
  EXPECT_LT(largest_error(snapshot, "vorticity_y", curl_y), 1e-13);
  EXPECT_LT(largest_error(snapshot, "vorticity_z", curl_z), 1e-13);
  EXPECT_LT(largest_error(snapshot, "vorticity_magnitude",
                          [&](double x, double y, double z) {
                            return std::hypot(curl_x(x, y, z), curl_y(x, y, z), curl_z(x, y, z));
                          }),
            1e-13);
  // d_x u = -d_y v = cos x cos y cos z, d_y u = -d_x v = -sin x sin y cos z; w = 0 takes no part.
  EXPECT_LT(largest_error(snapshot, "q_criterion",
                          [](double x, double y, double z) {
                            const double strain = std::cos(x) * std::cos(y), rotation = std::sin(x) * std::sin(y);
                            return std::cos(z) * std::cos(z) * (rotation * rotation - strain * strain);
                          }),
            1e-13);
}

TEST(Vortices, HaveTheSecondInvariantOfAllGradients) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::random_flow({6, 7, 8}, 13);
  auto snapshot = test::flow_snapshot(flow, test::random_layout({6, 7, 8}, periodic, world.size(), 5, 3),
                                      {1.0, 2.0, 3.0}, world.rank());

  add_vortex_quantities(world, snapshot);

  std::vector<Grid> gradients;
  for (std::size_t c = 0; c < 3; ++c)
    for (int axis = 0; axis < 3; ++axis)
      gradients.push_back(test::direct_derivative(flow[c], axis, static_cast<double>(axis + 1)));
  const auto field = snapshot.field("q_criterion");
  for (int b = 0; b < field.blocks(); ++b)
    core::for_each_cell(field.box(b), [&, view = field.view(b)](int k, int j, int i) {
      double strain = 0.0, rotation = 0.0;
      for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t a = 0; a < 3; ++a) {
          const double one = gradients[3 * c + a](k, j, i), other = gradients[3 * a + c](k, j, i);
          strain += std::pow((one + other) / 2, 2);
          rotation += std::pow((one - other) / 2, 2);
        }
      EXPECT_NEAR(view(k, j, i), (rotation - strain) / 2, 1e-12 * (rotation + strain));
    });
}

// In each eighth of the box that sin(x) sin(y) cos(z) leaves alone one vortex, found as if it were a halo.
TEST(Vortices, AreRegionsForTheHaloFinder) {
  const comm::Communicator world(MPI_COMM_WORLD), self(MPI_COMM_SELF);
  const mesh::Int3 cells{16, 16, 16};
  const auto analysis =
      test::analysis_of("analysis = 'halos'\nfield = 'q_criterion'\nt_boundary = '0.25'\nt_halo = '0.5'");
  auto alone = test::flow_snapshot(test::taylor_green(cells), test::one_box(cells), two_pi, 0);
  auto together = test::flow_snapshot(test::taylor_green(cells),
                                      test::random_layout(cells, periodic, world.size(), 6, 4), two_pi, world.rank());
  add_vortex_quantities(self, alone);
  add_vortex_quantities(world, together);

  const auto expected = analysis->run(self, alone), found = analysis->run(world, together);

  EXPECT_EQ(test::integers(expected, "id").size(), 8u);  // 4 in the plane, at z = 0 and pi
  if (world.rank() != 0) return;
  EXPECT_TRUE(test::are_identical(found, expected));
}

TEST(Vortices, AreNotSoughtWhereTheyCannotBe) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const FlowGrids flow = test::random_flow({8, 8, 8}, 1);
  auto walled = test::flow_snapshot(flow, test::one_box({8, 8, 8}, {true, true, false}), two_pi, world.rank());
  auto own = test::flow_snapshot(flow, test::one_box({8, 8, 8}), two_pi, world.rank());
  own.add({"vorticity_x", "1"}, Grid({8, 8, 8}, 7.0).on(own.levels.front(), world.rank()));

  add_vortex_quantities(world, walled);
  add_vortex_quantities(world, own, std::array<std::string, 1>{"q_criterion"});

  EXPECT_FALSE(walled.has("vorticity_magnitude"));
  EXPECT_FALSE(own.has("q_criterion"));
  EXPECT_TRUE(own.has("vorticity_y"));
  EXPECT_EQ(mesh::names_of(own.quantities()).size(), 3u + 4u);
}

TEST(Vortices, OfVelocitiesThatAreNoNumbersNameTheCell) {
  const comm::Communicator world(MPI_COMM_WORLD);
  FlowGrids flow = test::random_flow({8, 8, 8}, 1);
  flow[2](3, 2, 1) = std::numeric_limits<double>::infinity();
  auto snapshot = test::flow_snapshot(flow, test::one_box({8, 8, 8}), two_pi, world.rank());
  add_vortex_quantities(world, snapshot);

  EXPECT_THAT(test::message_of([&] { snapshot.field("q_criterion"); }),
              testing::HasSubstr("`velocity_z` holds inf at the cell (z, y, x) = (3, 2, 1)"));
}

}  // namespace
}  // namespace sidestream::analysis
