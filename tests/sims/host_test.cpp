// The state of a host: its memory is what a snapshot shows, and blocks of several levels are cut into leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "sidestream/core/error.hpp"
#include "sims/host/host_state.hpp"

namespace sidestream::sims {
namespace {

using mesh::Box;

class HostStateTest : public testing::Test {
 protected:
  // Slabs, one for each rank, with `ghosts` around.
  HostMesh slabs(std::int32_t ghosts) const {
    const std::int32_t ranks = world.size(), first = 12 * world.rank() / ranks, last = 12 * (world.rank() + 1) / ranks;
    HostMesh mesh;
    mesh.geometry = {mesh::domain_of({6, 5, 12}), {6.0, 5.0, 12.0}, {true, true, true}};
    mesh.blocks = {{0, {{0, 0, first}, {6, 5, last}}}};
    mesh.ghosts = ghosts;
    return mesh;
  }
  static HostMemory packed(const HostMesh& mesh, void* first) {
    const mesh::Int3 n = mesh.blocks[0].box.grown(mesh.ghosts.layers).extent();
    return {first, {1, n.x, std::ptrdiff_t{n.x} * n.y}};
  }

  comm::Communicator world{MPI_COMM_WORLD};
  HostState state{world};
};

TEST_F(HostStateTest, AViewOfAFieldIsTheProgramsMemory) {
  const HostMesh mesh = slabs(2);
  std::vector<double> numbers(static_cast<std::size_t>(mesh.blocks[0].box.grown(2).volume()));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  std::vector<float> floats(numbers.begin(), numbers.end());
  state.set_mesh(mesh);
  state.set_field({{"height", "m"}, mesh::ElementType::float64, {packed(mesh, numbers.data())}});
  state.set_field({{"width", "m"}, mesh::ElementType::float32, {packed(mesh, floats.data())}});

  const mesh::Snapshot snapshot = state.snapshot();

  const Box& box = mesh.blocks[0].box;
  const auto height = snapshot.field("height");
  EXPECT_EQ(&height.view(0)(box.lo.z, box.lo.y, box.lo.x), &numbers[2 + 10 * (2 + 9 * 2)]);
  EXPECT_EQ(height.view(0)(box.lo.z, box.lo.y + 1, box.lo.x + 3), numbers[5 + 10 * (3 + 9 * 2)]);
  EXPECT_EQ(snapshot.field("width").view(0)(box.lo.z, box.lo.y + 1, box.lo.x + 3), floats[5 + 10 * (3 + 9 * 2)]);
  EXPECT_EQ(snapshot.unit("height"), "m");
}

TEST_F(HostStateTest, LeavesTileTheDomainWhereverFinerBlocksLie) {
  HostMesh mesh = slabs(0);
  if (world.rank() == world.size() - 1) {
    mesh.blocks.push_back({1, {{2, 4, 6}, {8, 10, 14}}});
    mesh.blocks.push_back({1, {{8, 4, 6}, {10, 6, 8}}});
    mesh.blocks.push_back({2, {{8, 8, 16}, {16, 16, 20}}});
  }
  state.set_mesh(mesh);

  const mesh::LevelLayouts& layouts = state.layouts();

  ASSERT_EQ(layouts.leaves.size(), 3U);
  double volume = 0.0, cells = 1.0;
  for (std::size_t level = 0; level < 3; ++level) {
    mesh::check(layouts.leaves[level]);
    mesh::check(layouts.blocks[level]);
    for (const Box& box : layouts.leaves[level].boxes()) volume += static_cast<double>(box.volume()) * cells;
    cells /= 8.0;
  }
  EXPECT_DOUBLE_EQ(volume, 6.0 * 5.0 * 12.0);
  std::int64_t all = 0;
  for (const Box& box : layouts.blocks[0].boxes()) all += box.volume();
  EXPECT_EQ(all, 6 * 5 * 12);
}

TEST_F(HostStateTest, AFinerBlockBeyondTheCoarserOnesIsRefusedOnAllRanks) {
  HostMesh mesh = slabs(0);
  if (world.rank() == 0) mesh.blocks.push_back({2, {{0, 0, 0}, {4, 4, 4}}});
  state.set_mesh(mesh);  // ratio 4, with no level between
  if (world.rank() == 0) mesh.blocks.push_back({1, {{8, 4, 6}, {12, 8, 10}}});
  EXPECT_THROW(state.set_mesh(mesh), core::Error);  // the one of level 2 does not lie on it
}

}  // namespace
}  // namespace sidestream::sims
