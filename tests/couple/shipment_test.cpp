// How many messages a publish takes, and how many bytes of them are under way.
#include <limits>
#include <numeric>

#include "couple/in_transit/shipment.hpp"
#include "couple/session_fixture.hpp"
#include "couple/watched_traffic.hpp"

namespace sidestream::couple {
namespace {

void give_back(BufferPool& pool, Buffer buffer) {
  std::vector<Buffer> buffers;
  buffers.push_back(std::move(buffer));
  pool.give_back(std::move(buffers));
}

TEST(BufferPool, ABufferIsUsedAgainForWhatIsALittleSmallerOrLarger) {
  BufferPool pool;
  Buffer buffer = pool.take(1600);
  const Word* address = buffer.words();
  give_back(pool, std::move(buffer));

  buffer = pool.take(1500);
  EXPECT_EQ(buffer.words(), address);
  give_back(pool, std::move(buffer));
  buffer = pool.take(1700);
  EXPECT_EQ(buffer.words(), address);
  EXPECT_GE(buffer.capacity, 1700);
}

TEST(BufferPool, WhatIsFarTooLargeOrTooSmallIsFreed) {
  for (const std::size_t words : {std::size_t{10}, std::size_t{10000}}) {
    BufferPool pool;
    give_back(pool, pool.take(1000));

    EXPECT_LE(pool.take(words).capacity, words + words / 16);
  }
}

TEST(BufferPool, WhatIsLentIsKeptAndNotUsedBeforeItIsGivenBack) {
  BufferPool pool;
  Buffer buffer = pool.take(1000, true);
  const Word* address = buffer.words();
  ASSERT_TRUE(buffer.shared) << "this machine has memory that can be lent";
  std::optional<comm::SharedMemory> borrowed = comm::SharedMemory::borrow(buffer.shared->lend());
  give_back(pool, std::move(buffer));

  buffer = pool.take(1000, true);
  EXPECT_NE(buffer.words(), address);
  borrowed.reset();
  EXPECT_EQ(pool.take(1000, true).words(), address);
}

TEST(BufferPool, WhereNoMemoryCanBeLentItIsOfTheOtherKind) {
  BufferPool pool;
  test::refuse_shared_memory(true);

  const Buffer buffer = pool.take(1000, true);
  test::refuse_shared_memory(false);

  EXPECT_FALSE(buffer.shared);
  EXPECT_GE(buffer.capacity, 1000);
}

constexpr std::size_t words_of_message = 50000;

Cargo cargo_with(const std::vector<int>& peers, bool is_lent = false) {
  std::vector<Cargo::Size> sizes;
  for (const int peer : peers) sizes.push_back({peer, words_of_message - 7, 7, is_lent});
  return Cargo(sizes);
}

// All ranks but the last send to it; it takes their messages one or two at a time.
TEST(Intake, FromManySendersNoMoreIsUnderWayThanItIsTold) {
  const comm::Communicator world(MPI_COMM_WORLD);
  const int receiver = world.size() - 1;
  BufferPool pool;
  for (const std::int64_t messages : {1, 2}) {
    if (world.rank() != receiver) {
      Cargo cargo = cargo_with({receiver});
      cargo.load(pool);
      std::ranges::fill(cargo.messages()[0].words(), static_cast<Word>(world.rank()) + 1);
      Shipment shipment(world, 1, std::move(cargo), pool, false);
      while (!shipment.is_done()) shipment.progress();
      continue;
    }
    std::vector<int> senders(static_cast<std::size_t>(receiver));
    std::iota(senders.begin(), senders.end(), 0);
    Cargo cargo = cargo_with(senders);
    const std::int64_t most_bytes = messages * static_cast<std::int64_t>(8 * words_of_message) + 8;
    Intake intake(world, 1, cargo, most_bytes);
    std::int64_t largest = 0;
    while (!intake.is_done()) {
      largest = std::max(largest, intake.bytes_under_way());
      intake.progress();
    }

    EXPECT_LE(largest, most_bytes);
    if (receiver > 0) {
      EXPECT_EQ(largest, std::min<std::int64_t>(messages, receiver) * 8 * static_cast<std::int64_t>(words_of_message));
    }
    for (const Cargo::Message& message : cargo.messages())
      EXPECT_EQ(std::ranges::count(message.words(), static_cast<Word>(message.peer) + 1), words_of_message);
  }
}

// What is not asked for yet does not hold up its sender: it is told so, and goes on.
TEST(Shipment, IsWantedOnlyOnceTheReceiverHasAskedForIt) {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  BufferPool pool;
  if (world.rank() == 0) {
    Shipment shipment(world, 1, cargo_with({1}), pool, false);
    shipment.progress();
    EXPECT_FALSE(shipment.is_wanted());
    EXPECT_FALSE(shipment.is_done());
    world.barrier();
    while (!shipment.is_done()) shipment.progress();
    EXPECT_FALSE(shipment.is_wanted());
  } else {
    world.barrier();
    if (world.rank() > 1) return;
    Cargo cargo = cargo_with({0});
    Intake intake(world, 1, cargo, 1);
    while (!intake.is_done()) intake.progress();
  }
}

TEST(Shipment, MessagesWithoutWordsAreNotSent) {
  const comm::Communicator world(MPI_COMM_WORLD);
  BufferPool pool;
  const std::vector<Cargo::Size> nothing{{0, 0, 0}};

  const Shipment shipment(world, 1, Cargo(nothing), pool, false);
  Cargo cargo(nothing);
  const Intake intake(world, 1, cargo, 1);

  EXPECT_TRUE(shipment.is_done());
  EXPECT_TRUE(intake.is_done());
}

// The sender has no further part in it, and may write there again once the receiver has read.
TEST(Shipment, WhatIsLentIsReadWhereItWasWritten) {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  BufferPool pool;
  test::watch_traffic(8 * words_of_message);
  if (world.rank() == 0) {
    Cargo cargo = cargo_with({1}, true);
    cargo.load(pool);
    std::ranges::fill(cargo.messages()[0].words(), Word{17});
    Shipment shipment(world, 1, std::move(cargo), pool, false);
    while (!shipment.is_done()) shipment.progress();
    const std::vector<Buffer> buffers = std::move(shipment).release();
    world.barrier();
    EXPECT_TRUE(buffers.at(0).is_lent());
    buffers[0].words()[words_of_message - 1] = 18;
    world.barrier();
    world.barrier();
    EXPECT_FALSE(buffers[0].is_lent());
    EXPECT_EQ(test::seen_traffic().sent.size(), 1);
    EXPECT_EQ(test::seen_traffic().sent.at(0).size(), sizeof(comm::SharedMemory::Address));
    return;
  }
  std::optional<Cargo> cargo = cargo_with({0}, true);
  if (world.rank() == 1) {
    Intake intake(world, 1, *cargo, 1);
    while (!intake.is_done()) intake.progress();
    EXPECT_EQ(std::ranges::count(cargo->messages()[0].words(), 17), words_of_message);
    EXPECT_EQ(cargo->bytes_lent(), 8 * words_of_message);
    EXPECT_EQ(test::seen_traffic().bytes_taken, 0);
  }
  world.barrier();
  world.barrier();
  if (world.rank() == 1) {
    EXPECT_EQ(cargo->messages()[0].words().back(), 18) << "no copy";
  }
  cargo.reset();
  world.barrier();
}

TEST(Shipment, WhereNoMemoryCanBeLentTheDataFollowTheNote) {
  const comm::Communicator world(MPI_COMM_WORLD);
  if (world.size() == 1) return;
  BufferPool pool;
  if (world.rank() == 0) {
    test::refuse_shared_memory(true);
    Cargo cargo = cargo_with({1}, true);
    cargo.load(pool);
    test::refuse_shared_memory(false);
    std::iota(cargo.messages()[0].words().begin(), cargo.messages()[0].words().end(), Word{5});
    Shipment shipment(world, 1, std::move(cargo), pool, false);
    while (!shipment.is_done()) shipment.progress();
  } else if (world.rank() == 1) {
    Cargo cargo = cargo_with({0}, true);
    Intake intake(world, 1, cargo, 1);
    while (!intake.is_done()) intake.progress();
    EXPECT_EQ(cargo.messages()[0].words().front(), 5);
    EXPECT_EQ(cargo.messages()[0].words().back(), words_of_message + 4);
    EXPECT_EQ(cargo.bytes_lent(), 0);
  }
}

class Messages : public SessionTest {
 protected:
  // Of all ranks together.
  std::int64_t sent_in(const std::function<void()>& work) const {
    world_.barrier();
    test::watch_traffic(std::numeric_limits<std::size_t>::max());
    work();
    return world_.sum(static_cast<std::int64_t>(test::seen_traffic().sent.size()));
  }
};

TEST_F(Messages, APublishOfFieldsAndParticlesIsOneForEachPairOfRanksWhateverTheBlocks) {
  if (world_.size() == 1) return;
  for (const std::int32_t block : {2, 4, 8}) {
    mesh::Particles particles;
    const std::int64_t sent = sent_in([&] {
      run(config_of(
              {task_of("fields", std::make_shared<test::Digest>(), "in-transit"),
               task_of("particles", std::make_shared<test::ParticleSums>(std::vector<std::string>{}), "in-transit")},
              1),
          3, [&](const comm::Communicator& group, std::int64_t step) {
            mesh::Snapshot snapshot = snapshot_of(group, step, block);
            particles = {};
            particles.mass = 1.0;
            particles.attributes = {{"speed", "km/s", {}}};
            for (const std::int32_t box : snapshot.levels[0].boxes_of(group.rank())) {
              particles.id.push_back(box);
              particles.attributes[0].values.push_back(1.0);
              const mesh::Int3 cell = snapshot.levels[0].box(box).lo;
              for (int axis = 0; axis < 3; ++axis)
                particles.position[static_cast<std::size_t>(axis)].push_back((cell[axis] + 0.5) *
                                                                             snapshot.geometry.cell_size(axis));
            }
            snapshot.add_species({mesh::dark_matter, &particles});
            return snapshot;
          });
    });

    EXPECT_EQ(sent, 3 * (world_.size() - 1)) << "three publishes of blocks of " << block << " cells a side";
  }
}

}  // namespace
}  // namespace sidestream::couple
