#include "couple/publish/block_messages.hpp"

#include <gtest/gtest.h>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "couple/in_transit/shipment.hpp"
#include "couple/publish/protocol.hpp"
#include "sidestream/comm/roles.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/core/for_each.hpp"
#include "sidestream/mesh/forest.hpp"
#include "support/fields.hpp"
#include "support/levels.hpp"

namespace sidestream::couple {
namespace {

using Levels = std::vector<mesh::Layout>;

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
  EXPECT_EQ(dealt(mesh::Layout(layout.domain(), {}, {}, {}), 3).size(), 0) << "a level without leaves";
}

TEST(Protocol, ALayoutArrivesAsItWasSent) {
  const mesh::Layout layout = mesh::Forest({32, 16, 8}, 8, {true, false, true}).layout(3);

  const mesh::Layout arrived = layout_from(to_message(layout), 3);

  EXPECT_TRUE(arrived == layout);
  EXPECT_EQ(arrived.periodic(), layout.periodic());
  EXPECT_EQ(arrived.domain(), layout.domain());
}

TEST(Protocol, OnlyLevelsThatChangedTravel) {
  const auto levels = [](int refined_blocks) {
    return test::refined_levels(8, 4, 2, test::Blocks::all, [=](int level, mesh::Int3 p) {
      return level == 0 && p.x + 2 * p.y + 4 * p.z < refined_blocks;
    });
  };
  const Levels none, flat = levels(0), one = levels(1), two = levels(2);

  EXPECT_TRUE(levels_from(to_message(one, none), none, 2) == one);
  EXPECT_TRUE(levels_from(to_message(two, one), one, 2) == two);
  EXPECT_TRUE(to_message(two, one)[0].is_null()) << "the coarsest level is as it was";
  EXPECT_FALSE(to_message(two, one)[1].is_null());
  EXPECT_TRUE(levels_from(to_message(flat, two), two, 2) == flat);
}

TEST(Protocol, NumbersOfASnapshotKeepEveryBit) {
  mesh::Snapshot snapshot;
  snapshot.moment.step = std::int64_t{1} << 40;
  snapshot.moment.time = 0.1 + 0.2;
  snapshot.moment.attributes = {{"a", 1.0 / 3.0}, {"b", -0.0}, {"c", 1e-310}, {"d", 16777217.0}};
  snapshot.moment.scale_factor = 1.0 / 3.0;
  snapshot.geometry = {{{0, 0, 0}, {4, 5, 6}}, {1.0 / 7.0, 2.0, 3.0}, {true, false, true}};

  const mesh::Snapshot arrived = snapshot_from(unpacked(packed(to_message({}, snapshot))));

  EXPECT_EQ(arrived.moment.step, snapshot.moment.step);
  EXPECT_EQ(arrived.moment.time, snapshot.moment.time);
  EXPECT_EQ(arrived.moment.attributes, snapshot.moment.attributes);
  EXPECT_TRUE(std::signbit(arrived.moment.attribute("b")));
  EXPECT_EQ(arrived.moment.scale_factor, snapshot.moment.scale_factor);
  EXPECT_EQ(arrived.geometry.domain, snapshot.geometry.domain);
  EXPECT_EQ(arrived.geometry.length, snapshot.geometry.length);
  EXPECT_EQ(arrived.geometry.periodic, snapshot.geometry.periodic);
}

TEST(Protocol, AnAnnouncementArrivesAsItWasSent) {
  const ParticleLabel stars{"stars", std::int64_t{1} << 40, 0.1, {{"momentum_x", "km/s"}, {"age", ""}}};
  const Announcement sent{7,
                          {0, 2},
                          {{"density", "g"}},
                          {stars, {"tracers", 3, 0.0, {}}},
                          {80, 0},
                          12,
                          {},
                          {{3, 1, std::int64_t{1} << 33}}};

  const Announcement arrived = announcement_from(unpacked(packed(to_message(sent, mesh::Snapshot()))), 3);

  EXPECT_EQ(arrived.number, 7);
  EXPECT_EQ(arrived.tasks, sent.tasks);
  EXPECT_EQ(arrived.bytes, sent.bytes);
  EXPECT_EQ(arrived.first_step, 12);
  ASSERT_EQ(arrived.flows.size(), 1);
  EXPECT_EQ(arrived.flows[0].from, 3);
  EXPECT_EQ(arrived.flows[0].to, 1);
  EXPECT_EQ(arrived.flows[0].words, std::int64_t{1} << 33);
  ASSERT_EQ(arrived.particles.size(), 2U);
  EXPECT_EQ(arrived.particles[0].species, "stars");
  EXPECT_EQ(arrived.particles[0].count, stars.count);
  EXPECT_EQ(arrived.particles[0].mass, 0.1);
  EXPECT_EQ(arrived.particles[0].attributes.at(0).unit, "km/s");
  EXPECT_EQ(arrived.particles[0].bytes(), stars.count * 48);
  EXPECT_EQ(arrived.particles[1].species, "tracers");
  EXPECT_EQ(arrived.particles[1].bytes(), 3 * 32);
}

// What a decoder says of each message is an error of ours, never another exception or a crash.
TEST(Protocol, ADamagedMessageIsRefused) {
  const mesh::Layout layout = mesh::Forest({16, 8, 8}, 8).layout(2);
  const nlohmann::json good = to_message(layout);
  const auto with = [&](const char* key, nlohmann::json value) {
    nlohmann::json changed = good;
    changed[key] = std::move(value);
    return changed;
  };
  const auto bytes = [](std::size_t count) { return nlohmann::json::binary(std::vector<std::uint8_t>(count, 1)); };

  EXPECT_NO_THROW(layout_from(good, 2));
  EXPECT_THROW(layout_from(good, 1), core::Error) << "an owner beyond the ranks";
  EXPECT_THROW(layout_from(nullptr, 2), core::Error);
  EXPECT_THROW(layout_from(with("level", "one"), 2), core::Error);
  EXPECT_THROW(layout_from(with("domain", bytes(0)), 2), core::Error);
  EXPECT_THROW(layout_from(with("domain", bytes(24)), 2), core::Error) << "empty";
  EXPECT_THROW(layout_from(with("boxes", bytes(47)), 2), core::Error) << "cut short";
  EXPECT_THROW(layout_from(with("boxes", bytes(48)), 2), core::Error) << "outside";
  EXPECT_THROW(layout_from(with("owners", bytes(4)), 2), core::Error);
  EXPECT_THROW(levels_from({nullptr}, {}, 2), core::Error) << "a level that nobody knows";
  EXPECT_THROW(levels_from(3, {}, 2), core::Error);
  EXPECT_THROW(particle_label_from({{"species", 3}}), core::Error);
}

TEST(Protocol, AnAnnouncementOfTasksThatThereAreNotIsRefused) {
  const Announcement sent{7, {0, 2}, {}, {}, {80, 0}, 12, {}, {}};
  const nlohmann::json good = to_message(sent, mesh::Snapshot());
  nlohmann::json negative = good, uneven = good;
  negative["number"] = -1;
  uneven["bytes"] = {1};

  EXPECT_NO_THROW(announcement_from(good, 3));
  EXPECT_THROW(announcement_from(good, 2), core::Error);
  EXPECT_THROW(announcement_from(negative, 3), core::Error);
  EXPECT_THROW(announcement_from(uneven, 3), core::Error);
}

TEST(Protocol, BytesThatAreNoMessageAreRefused) {
  EXPECT_THROW(unpacked(""), core::Error);
  EXPECT_THROW(unpacked("\xff"), core::Error);
  EXPECT_THROW(unpacked(packed({{"a", 1}}).substr(0, 3)), core::Error);
  EXPECT_THROW(unpacked(std::string(1000000, '\x81')), core::Error) << "nested a million deep";
}

// Two quantities on a level, the second the negative of the first.
mesh::Field<double> quantity(const mesh::Layout& layout, int rank, std::size_t number) {
  mesh::Field<double> field = test::field_of_global_index(layout, rank);
  if (number == 1) std::ranges::transform(field.all(), field.all().begin(), std::negate{});
  return field;
}

// Sends two quantities of the group that computes to sidecars that hold the boxes as `theirs`.
void expect_every_cell_arrives(const comm::Roles& roles, const Levels& ours, const Levels& theirs) {
  const bool computes = roles.computes();
  const int rank = roles.group().rank();
  const std::vector<bool>& sharers = roles.sharers_of_memory();
  const Route route =
      computes ? Route(ours, rank, theirs, roles.counts().compute, sharers) : Route(theirs, rank, ours, 0, sharers);
  BufferPool pool;
  auto cargo = std::make_shared<Cargo>(route.cargo(2, {}));
  if (computes) {
    cargo->load(pool);
    const auto write = [&](std::size_t number, std::size_t level, const mesh::Box& box,
                           const core::View4<double>& out) {
      const mesh::Field<double> field = quantity(ours[level], rank, number);
      const auto from = mesh::FieldView<const double>(field).view_on(box);
      core::for_each_cell(box, [=](int k, int j, int i) { out(k, j, i) = from(k, j, i); });
    };
    route.pack(2, write, *cargo);
    Shipment shipment(roles.world(), 1, std::move(*cargo), pool, false);
    while (!shipment.is_done()) shipment.progress();
    pool.give_back(std::move(shipment).release());
    roles.world().barrier();  // what is lent is kept so long
    return;
  }
  Intake intake(roles.world(), 1, *cargo, 1000);
  while (!intake.is_done()) intake.progress();
  roles.world().barrier();

  for (std::size_t number = 0; number < 2; ++number) {
    const auto views = route.views(cargo, number);
    const auto is_in_a_message = [&](const double* cell) {
      const auto* const word = reinterpret_cast<const Word*>(cell);
      return std::ranges::any_of(cargo->messages(), [&](const Cargo::Message& message) {
        return word >= message.fields.data() && word < message.fields.data() + message.fields.size();
      });
    };
    for (std::size_t level = 0; level < theirs.size(); ++level) {
      const mesh::Field<double> expected = quantity(theirs[level], rank, number);
      for (int b = 0; b < expected.blocks(); ++b)
        core::for_each_cell(expected.box(b),
                            [&, is = views[level].view(b), was = expected.view(b)](int k, int j, int i) {
                              ASSERT_EQ(is(k, j, i), was(k, j, i));
                              ASSERT_TRUE(is_in_a_message(&is(k, j, i))) << "cells are read where they arrived";
                            });
    }
  }
}

TEST(Route, EveryCellArrivesForEverySplitOfTheWorld) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const comm::Roles roles(world, sidecars);
    const Levels ours{mesh::Forest({16, 8, 8}, 4).layout(roles.counts().compute)};

    expect_every_cell_arrives(roles, ours, dealt(ours, sidecars));
  }
}

TEST(Route, AllLevelsOfARefinedMeshTravelTogether) {
  const comm::Communicator world(MPI_COMM_WORLD);
  for (int sidecars = 1; sidecars < world.size(); ++sidecars) {
    const comm::Roles roles(world, sidecars);
    const Levels ours =
        test::refined_levels(8, 4, roles.counts().compute, test::Blocks::leaves, [](int level, mesh::Int3 p) {
          return level < 2 && p == mesh::Int3{level, level, 0};
        });
    ASSERT_EQ(ours.size(), 3);

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

    expect_every_cell_arrives(roles, {ours}, {theirs});
  }
}

}  // namespace
}  // namespace sidestream::couple
