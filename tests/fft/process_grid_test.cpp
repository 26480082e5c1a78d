#include "fft/process_grid.hpp"

#include <gtest/gtest.h>

namespace sidestream::fft {
namespace {

ProcessGrid grid_of(mesh::Int3 cells, int ranks, Decomposition decomposition) {
  return choose_process_grid(cells, {cells.x / 2 + 1, cells.y, cells.z}, ranks, decomposition);
}

TEST(ProcessGrid, AutomaticTakesSlabsWhileThereArePlanesEnough) {
  const ProcessGrid grid = grid_of({64, 64, 64}, 48, Decomposition::automatic);

  EXPECT_EQ(grid.rows, 1);
  EXPECT_EQ(grid.columns, 48);
}

TEST(ProcessGrid, AutomaticTakesPencilsForMoreRanksThanPlanes) {
  const ProcessGrid grid = grid_of({64, 64, 64}, 1024, Decomposition::automatic);

  EXPECT_EQ(grid.rows, 32);
  EXPECT_EQ(grid.columns, 32);
}

TEST(ProcessGrid, TwoDimensionalGridsAreCutAlongTheirPencils) {
  const ProcessGrid grid = grid_of({64, 64, 1}, 16, Decomposition::automatic);

  EXPECT_EQ(grid.rows, 16);
  EXPECT_EQ(grid.columns, 1);
}

TEST(ProcessGrid, NeverHasARankWithoutALine) {
  for (int ranks = 1; ranks <= 40; ++ranks)
    for (const mesh::Int3 cells : {mesh::Int3{2, 2, 2}, {3, 3, 3}, {5, 7, 4}, {1, 9, 3}, {13, 1, 1}, {8, 8, 8}})
      for (const auto decomposition : {Decomposition::automatic, Decomposition::slabs, Decomposition::pencils}) {
        const ProcessGrid grid = grid_of(cells, ranks, decomposition);

        EXPECT_LE(grid.ranks(), ranks);
        EXPECT_LE(grid.rows, std::min(cells.x / 2 + 1, cells.y));
        EXPECT_LE(grid.columns, std::min(cells.y, cells.z));
      }
}

}  // namespace
}  // namespace sidestream::fft
