#include "couple/route.hpp"

#include <gtest/gtest.h>

#include "couple/protocol.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"

namespace sidestream::couple {
namespace {

std::vector<std::int64_t> cells_of_ranks(const mesh::Layout& layout, int ranks) {
  std::vector<std::int64_t> cells(static_cast<std::size_t>(ranks), 0);
  for (std::int32_t box = 0; box < layout.size(); ++box)
    cells[static_cast<std::size_t>(layout.owner(box))] += layout.box(box).volume();
  return cells;
}

TEST(Dealt, BoxesKeepTheirOrderAndRanksGetNearlyEqualPieces) {
  const mesh::Layout layout = mesh::Forest({32, 32, 32}, 8).layout(5);

  const mesh::Layout other = dealt(layout, 3);

  EXPECT_TRUE(std::ranges::equal(other.boxes(), layout.boxes()));
  EXPECT_TRUE(std::ranges::is_sorted(other.owners()));
  for (const std::int64_t cells : cells_of_ranks(other, 3)) EXPECT_NEAR(static_cast<double>(cells), 32768.0 / 3, 512);
}

TEST(Dealt, BoxesOfUnequalSizeAreWeighedByTheirCells) {
  const mesh::Layout layout({{0, 0, 0}, {8, 1, 1}}, {},
                            {{{0, 0, 0}, {6, 1, 1}}, {{6, 0, 0}, {7, 1, 1}}, {{7, 0, 0}, {8, 1, 1}}}, {0, 0, 0});

  EXPECT_EQ(cells_of_ranks(dealt(layout, 2), 2), (std::vector<std::int64_t>{6, 2}));
}

TEST(Dealt, ThereMayBeMoreRanksThanBoxes) {
  const mesh::Layout layout = mesh::Forest({8, 8, 8}, 8).layout(1);

  EXPECT_EQ(dealt(layout, 3).size(), 1);
}

TEST(Protocol, ALayoutArrivesAsItWasSent) {
  const mesh::Layout layout = mesh::Forest({32, 16, 8}, 8, {true, false, true}).layout(3);

  const mesh::Layout arrived = layout_from(to_message(layout));

  EXPECT_TRUE(arrived == layout);
  EXPECT_EQ(arrived.periodic(), layout.periodic());
  EXPECT_EQ(arrived.domain(), layout.domain());
}

TEST(Protocol, NumbersOfASnapshotKeepEveryBit) {
  mesh::Snapshot snapshot;
  snapshot.step = std::int64_t{1} << 40;
  snapshot.time = 0.1 + 0.2;
  snapshot.attributes = {{"a", 1.0 / 3.0}, {"b", -0.0}, {"c", 1e-310}, {"d", 16777217.0}};
  snapshot.geometry = {{{0, 0, 0}, {4, 5, 6}}, {1.0 / 7.0, 2.0, 3.0}, {true, false, true}};

  const mesh::Snapshot arrived =
      snapshot_from(nlohmann::json::from_cbor(nlohmann::json::to_cbor(to_message({}, snapshot))));

  EXPECT_EQ(arrived.step, snapshot.step);
  EXPECT_EQ(arrived.time, snapshot.time);
  EXPECT_EQ(arrived.attributes, snapshot.attributes);
  EXPECT_TRUE(std::signbit(arrived.attribute("b")));
  EXPECT_EQ(arrived.geometry.domain, snapshot.geometry.domain);
  EXPECT_EQ(arrived.geometry.length, snapshot.geometry.length);
  EXPECT_EQ(arrived.geometry.periodic, snapshot.geometry.periodic);
}

// Sends two fields of the group that computes to sidecars that hold the boxes as `theirs`.
void expect_every_cell_arrives(const comm::Roles& roles, const mesh::Layout& ours, const mesh::Layout& theirs) {
  const bool computes = roles.computes();
  const int rank = roles.group().rank();
  const Route route = computes ? Route(ours, rank, theirs, roles.counts().compute) : Route(theirs, rank, ours, 0);
  std::vector<double> buffer(static_cast<std::size_t>(route.cells()) * 2);
  std::vector<MPI_Request> requests;
  if (computes) {
    const auto a = test::field_of_global_index(ours, rank);
    mesh::Field<double> b(ours, rank);
    std::ranges::transform(a.all(), b.all().begin(), [](double value) { return -value; });
    route.pack(std::array{&a, static_cast<const mesh::Field<double>*>(&b)}, buffer);
    requests = route.send(roles.world(), buffer, 2);
  } else {
    requests = route.receive(roles.world(), buffer, 2);
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  if (computes) return;

  std::vector<mesh::Field<double>> fields;
  fields.emplace_back(theirs, rank);
  fields.emplace_back(theirs, rank);
  route.unpack(buffer, fields);
  for (double& value : fields[1].all()) value = -value;

  EXPECT_EQ(test::cells_that_differ(fields[0]), 0);
  EXPECT_EQ(test::cells_that_differ(fields[1]), 0);
}

TEST(Route, EveryCellArrivesForEverySplitOfTheWorld) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const comm::Roles roles(world, sidecars);
    const mesh::Layout ours = mesh::Forest({16, 8, 8}, 4).layout(roles.counts().compute);

    expect_every_cell_arrives(roles, ours, dealt(ours, sidecars));
  }
}

TEST(Route, OwnersMayBeInAnyOrderAndSomeMayOwnNothing) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const comm::Roles roles(world, sidecars);
    const std::vector<mesh::Box> boxes{{{0, 0, 0}, {1, 1, 1}}, {{1, 0, 0}, {4, 1, 1}}, {{0, 1, 0}, {4, 2, 3}}};
    const int last = roles.counts().compute - 1;
    const mesh::Layout ours({{0, 0, 0}, {4, 2, 3}}, {}, boxes, {last, 0, last});
    const mesh::Layout theirs({{0, 0, 0}, {4, 2, 3}}, {}, boxes, {sidecars - 1, sidecars - 1, 0});

    expect_every_cell_arrives(roles, ours, theirs);
  }
}

TEST(BufferPool, ABufferOfTheSameSizeIsUsedAgain) {
  BufferPool pool;
  BufferPool::Buffer buffer = pool.take(100);
  const double* address = buffer.get();
  pool.give_back(std::move(buffer), 100);

  EXPECT_EQ(pool.take(100).get(), address);
}

}  // namespace
}  // namespace sidestream::couple
