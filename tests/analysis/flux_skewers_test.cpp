// Single lines of sight: which they are, and what is told of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/absorbing_gas.hpp"

namespace sidestream::analysis {
namespace {

using mesh::Int3;
using test::Gas;
using test::Grid;
using test::numbers;
using test::snapshot_of;
using test::some_layout;
using testing::HasSubstr;

TEST(FluxSkewers, AreLinesOfTheBox) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{16, 12, 20};
  const Gas gas(cells);
  const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());
  const Absorbers absorbers = absorbers_of(world, snapshot, {lyman_alpha("H I"), Broadening::full, {0, 1, 2}});
  for (int axis = 0; axis < 3; ++axis) {
    const std::string name(1, "xyz"[axis]);
    for (const std::string choice : {"regular", "random"}) {
      const auto result =
          test::analysis_of("analysis = 'flux_skewers'\nnumber = 18\naxis = '" + name + "'\nchoose = '" + choice + "'")
              ->run(world, snapshot);

      if (world.rank() != 0) continue;
      const auto lines = static_cast<std::size_t>(result.dimensions.at("line")),
                 pixels = static_cast<std::size_t>(result.dimensions.at("pixel"));
      EXPECT_EQ(lines, choice == "regular" ? 16u : 18u);
      EXPECT_EQ(pixels, static_cast<std::size_t>(cells[axis]));
      const Grid depths = test::depths_line_by_line(gas, absorbers.scales[static_cast<std::size_t>(axis)], axis);
      for (std::size_t line = 0; line < lines; ++line) {
        Int3 cell;
        for (int a = 0; a < 3; ++a)
          cell[a] = static_cast<std::int32_t>(numbers(result, std::string(1, "xyz"[a]))[line] * cells[a] / 10);
        EXPECT_EQ(cell[axis], 0);
        for (std::size_t j = 0; j < pixels; ++j, ++cell[axis]) {
          const auto of = [&](const char* column) { return numbers(result, column)[line * pixels + j]; };
          EXPECT_EQ(of("neutral_hydrogen"), gas.density(cell.z, cell.y, cell.x));
          EXPECT_EQ(of("temperature"), gas.temperature(cell.z, cell.y, cell.x));
          EXPECT_EQ(of("peculiar_velocity"), gas.velocity[static_cast<std::size_t>(axis)](cell.z, cell.y, cell.x));
          EXPECT_EQ(of("optical_depth"), depths(cell.z, cell.y, cell.x));
          EXPECT_NEAR(of("flux"), std::exp(-of("optical_depth")), 1e-15);
        }
      }
    }
  }
}

TEST(FluxSkewers, HaveVelocitiesAndWavelengthsOfTheirPixels) {
  const comm::Communicator world(MPI_COMM_WORLD);

  const auto result = test::analysis_of("analysis = 'flux_skewers'\naxis = 'x'\nnumber = 1000")
                          ->run(world, test::snapshot_of_reference(world));

  if (world.rank() != 0) return;
  EXPECT_EQ(result.dimensions.at("line"), 6);  // all there are
  for (std::size_t j = 0; j < 64; ++j) {
    const double velocity = (static_cast<double>(j) + 0.5) * 11.7386766130;
    EXPECT_NEAR(numbers(result, "velocity")[j], velocity, 1e-8 * velocity);
    EXPECT_NEAR(numbers(result, "wavelength")[j], 4 * 1215.6701 * (1 + velocity / 299792.458), 0.02);
  }
  EXPECT_NEAR(numbers(result, "wavelength")[63] / numbers(result, "wavelength")[0],
              std::exp(63 * 11.7386766130 / 299792.458), 1e-10);
}

TEST(FluxSkewers, AtRandomFollowTheirSeed) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = snapshot_of(Gas({8, 8, 8}), some_layout({8, 8, 8}, world.size()), world.rank());
  const auto places = [&](const std::string& more) {
    const auto result =
        test::analysis_of("analysis = 'flux_skewers'\nchoose = 'random'\nnumber = 20\n" + more)->run(world, snapshot);
    return world.rank() == 0 ? numbers(result, "x") : std::vector<double>{};
  };

  const auto first = places(""), again = places("seed = 1"), other = places("seed = 2");

  EXPECT_EQ(first, again);
  EXPECT_EQ(first == other, world.rank() != 0);
}

TEST(FluxSkewers, GoThroughTheCellsOfPositions) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{16, 12, 20};
  const Gas gas(cells);
  const auto snapshot = snapshot_of(gas, some_layout(cells, world.size()), world.rank());

  // The second lies in the cell of the first across the axis, the last but one beyond the periodic box.
  const auto result = test::analysis_of(
                          "analysis = 'flux_skewers'\naxis = 'y'\nchoose = 'positions'\n"
                          "positions = [[9.9, 3, 0.1], [9.4, 8, 0], [0, 0, 5], [-9.7, 13, 19.9], [10, 1, 5]]")
                          ->run(world, snapshot);

  if (world.rank() != 0) return;
  EXPECT_EQ(test::integers(result, "position_line"), (std::vector<std::int64_t>{0, 0, 1, 2, 1}));
  const Int3 first[] = {{15, 0, 0}, {0, 0, 10}, {0, 0, 19}};
  ASSERT_EQ(result.dimensions.at("line"), 3);
  for (std::size_t line = 0; line < 3; ++line) {
    EXPECT_NEAR(numbers(result, "x")[line], (first[line].x + 0.5) * 10 / 16, 1e-12);
    EXPECT_NEAR(numbers(result, "z")[line], (first[line].z + 0.5) * 10 / 20, 1e-12);
    for (int j = 0; j < 12; ++j)
      EXPECT_EQ(numbers(result, "temperature")[line * 12 + static_cast<std::size_t>(j)],
                gas.temperature(first[line].z, j, first[line].x));
  }
}

TEST(FluxSkewers, SayWhatIsWrongWithPositions) {
  const auto complaint = [](const std::string& toml) {
    return test::message_of([&] { test::analysis_of("analysis = 'flux_skewers'\n" + toml); });
  };

  EXPECT_THAT(complaint("choose = 'positions'"), HasSubstr("take both"));
  EXPECT_THAT(complaint("positions = [[1, 2, 3]]"), HasSubstr("take both"));
  EXPECT_THAT(complaint("choose = 'positions'\npositions = [[1, 2]]"), HasSubstr("three coordinates"));
  EXPECT_THAT(complaint("choose = 'positions'\npositions = [[1, 2, inf]]"), HasSubstr("not finite"));
  EXPECT_THAT(complaint("choose = 'positions'\npositions = [[1, 2, 3]]\nnumber = 50"), HasSubstr("as many lines"));
  EXPECT_THAT(complaint("choose = 'positions'\npositions = [1, 2, 3]"), HasSubstr("positions"));
}

TEST(FluxSkewers, GoThroughNoPositionFarOutsideTheBox) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = snapshot_of(Gas({8, 8, 8}), some_layout({8, 8, 8}, world.size()), world.rank());

  const std::string complaint = test::message_of([&] {
    test::analysis_of("analysis = 'flux_skewers'\nchoose = 'positions'\npositions = [[1, 2, 1e300]]")
        ->run(world, snapshot);
  });

  EXPECT_THAT(complaint, HasSubstr("more than a box outside"));
}

TEST(FluxSkewers, SayWhenThereAreNoMoreAndWhenCellsAreTooWide) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const auto snapshot = snapshot_of(Gas({8, 8, 8}), some_layout({8, 8, 8}, world.size()), world.rank());
  const auto summary = [&](const std::string& more) {
    return test::analysis_of("analysis = 'flux_skewers'\n" + more)->run(world, snapshot).summary;
  };

  const std::string all = summary("number = 1000"), sharp = summary("number = 4\nresolution = 7.0"),
                    wide = summary("number = 4\nresolution = 1000.0\npixel = 3.0");

  if (world.rank() != 0) return;
  EXPECT_THAT(all, HasSubstr("64 lines along z, all there are"));
  EXPECT_THAT(sharp, HasSubstr("as wide as the cells"));
  EXPECT_EQ(wide, "4 lines along z");
}

TEST(FluxSkewers, RefuseNoiseAlone) {
  EXPECT_THAT(test::message_of([] { test::analysis_of("analysis = 'flux_skewers'\nsignal_to_noise = 1e-310"); }),
              HasSubstr("all noise"));
}

TEST(FluxSkewers, HaveMockSpectraOfTheirFlux) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const Int3 cells{16, 12, 20};
  const auto snapshot = snapshot_of(Gas(cells), some_layout(cells, world.size()), world.rank());

  const auto result =
      test::analysis_of("analysis = 'flux_skewers'\nnumber = 9\nresolution = 80\npixel = 70")->run(world, snapshot);

  if (world.rank() != 0) return;
  const double width = 2 * numbers(result, "velocity")[0];
  const auto pixels = static_cast<std::size_t>(result.dimensions.at("mock_pixel"));
  EXPECT_EQ(pixels, static_cast<std::size_t>(std::llround(20 * width / 70)));
  EXPECT_NEAR(2 * numbers(result, "mock_velocity")[0], 20 * width / static_cast<double>(pixels), 1e-9);
  for (std::size_t line = 0; line < 9; ++line) {
    double mean = 0, mock_mean = 0;
    for (std::size_t j = 0; j < 20; ++j) mean += numbers(result, "flux")[20 * line + j] / 20;
    for (std::size_t j = 0; j < pixels; ++j)
      mock_mean += numbers(result, "mock_flux")[pixels * line + j] / static_cast<double>(pixels);
    EXPECT_NEAR(mock_mean, mean, 1e-13);
  }
}

}  // namespace
}  // namespace sidestream::analysis
