#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "couple/stream/part_cursor.hpp"
#include "couple/stream/reader/incoming_bytes.hpp"
#include "couple/stream/run/outgoing_bytes.hpp"
#include "couple/stream/run/shelf.hpp"
#include "couple/stream/wire.hpp"
#include "sidestream/core/error.hpp"
#include "sidestream/mesh/field.hpp"

namespace {

using namespace sidestream;
using namespace sidestream::couple;

constexpr int fields = 2;

double value_at(int field, int level, mesh::Int3 cell) {
  return field * 1e6 + level * 1e5 + cell.z * 1e4 + cell.y * 1e2 + cell.x + 0.1;
}

std::vector<mesh::Layout> two_levels() {
  const mesh::Box coarse = mesh::domain_of({8, 6, 10}), fine = mesh::domain_of({16, 12, 20});
  return {mesh::split(coarse, {2, 1, 2}),
          mesh::Layout(fine, {true, true, true}, {{{4, 4, 4}, {8, 8, 8}}, {{8, 4, 4}, {12, 8, 8}}}, {0, 0}, 1)};
}

// Of rank 0, which has all blocks.
std::shared_ptr<Shelf> filled_shelf(std::vector<mesh::Layout> levels, std::int64_t particles) {
  for (mesh::Layout& level : levels)
    level = level.renumbered(std::vector<std::int32_t>(static_cast<std::size_t>(level.size()), 0));
  const Route route(levels, 0);
  BufferPool pool;
  Cargo cargo = route.cargo(fields, std::vector<std::int64_t>{particles});
  cargo.load(pool);
  const auto write = [](std::size_t field, std::size_t level, const mesh::Box& box, const core::View4<double>& out) {
    for (std::int32_t z = box.lo.z; z < box.hi.z; ++z)
      for (std::int32_t y = box.lo.y; y < box.hi.y; ++y)
        for (std::int32_t x = box.lo.x; x < box.hi.x; ++x)
          out(z, y, x) = value_at(static_cast<int>(field), static_cast<int>(level), {x, y, z});
  };
  route.pack(fields, write, cargo);
  for (std::size_t w = 0; w < cargo.messages().front().particles.size(); ++w)
    cargo.messages().front().particles[w] = 1000 + w;
  return std::make_shared<Shelf>(levels, 0, fields, std::move(cargo));
}

class Parts {
 public:
  Parts(const std::vector<mesh::Layout>& levels, std::uint64_t seed) : levels_(levels), random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  bool coin() { return below(2) == 0; }

  Part part() {
    const int level = below(static_cast<int>(levels_.size()));
    const mesh::Layout& layout = levels_[static_cast<std::size_t>(level)];
    mesh::Box box = layout.box(below(layout.size()));
    if (coin()) return {level, box};
    for (int axis = 0; axis < 3; ++axis) {
      const int n = box.hi[axis] - box.lo[axis], first = below(n);
      box.hi[axis] = box.lo[axis] + first + 1 + below(n - first);
      box.lo[axis] += first;
    }
    return {level, box};
  }

 private:
  std::vector<mesh::Layout> levels_;
  std::mt19937_64 random_;
};

struct Received {
  std::vector<std::vector<double>> parts;  // field by field
  std::vector<Word> particles;
};

// Where the parts of a transfer come to: rows with gaps between them, or without.
class Targets {
 public:
  Targets(const TransferOrder& order, std::int32_t gap) : order_(order), gap_(gap) {
    for (std::size_t f = 0; f < order.fields.size(); ++f)
      for (const Part& part : order.parts) {
        const mesh::Int3 n = part.box.extent();
        memory_.emplace_back(static_cast<std::size_t>(n.x + gap) * static_cast<std::size_t>(n.y * n.z), -1.0);
      }
  }

  std::vector<Incoming::Target> views() {
    std::vector<Incoming::Target> all;
    for (std::size_t t = 0; t < memory_.size(); ++t) {
      const mesh::Box& box = box_of(t);
      const mesh::Int3 n = box.extent();
      all.push_back({memory_[t].data(), box.lo.x, box.lo.y, box.lo.z, n.x + gap_, n.y, n.z, 1});
    }
    return all;
  }

  // Without the gaps, in which nothing may lie.
  std::vector<std::vector<double>> parts() const {
    std::vector<std::vector<double>> all;
    for (std::size_t t = 0; t < memory_.size(); ++t) {
      std::vector<double>& part = all.emplace_back();
      const std::int32_t nx = box_of(t).extent().x;
      for (std::size_t i = 0; i < memory_[t].size(); ++i)
        if (static_cast<std::int32_t>(i % static_cast<std::size_t>(nx + gap_)) < nx)
          part.push_back(memory_[t][i]);
        else
          EXPECT_EQ(memory_[t][i], -1.0);
    }
    return all;
  }

 private:
  const mesh::Box& box_of(std::size_t target) const { return order_.parts[target % order_.parts.size()].box; }

  TransferOrder order_;
  std::int32_t gap_;
  std::vector<std::vector<double>> memory_;  // by field and part
};

std::vector<Word> words_of(std::span<const std::byte> bytes) {
  std::vector<Word> words(bytes.size() / sizeof(Word));
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

// Takes all of a transfer in pieces of any size, leaving off and beginning again at some.
Received by_messages(const std::shared_ptr<Shelf>& shelf, const TransferOrder& order, Parts& chance) {
  Targets targets(order, chance.below(3));
  Incoming incoming(order, targets.views());
  Outgoing outgoing(shelf, order);
  std::vector<std::byte> particles;
  for (std::int64_t got = 0; got < outgoing.bytes();) {
    if (chance.below(5) == 0) {
      outgoing = Outgoing(shelf, order);
      outgoing.skip_to(got);
    }
    const std::size_t most = 8 * static_cast<std::size_t>(1 + chance.below(200));
    std::span<const std::byte> bytes = outgoing.in_place(most);
    std::vector<std::byte> gathered(most);
    if (bytes.empty() || (chance.coin() && outgoing.field_bytes_left() > 0)) {
      gathered.resize(outgoing.copy(gathered));
      bytes = gathered;
    } else {
      outgoing.skip(bytes.size());
    }
    EXPECT_FALSE(bytes.empty());
    if (bytes.empty()) break;
    got += std::ssize(bytes);
    const std::size_t taken = incoming.take(bytes);
    particles.insert(particles.end(), bytes.begin() + static_cast<std::ptrdiff_t>(taken), bytes.end());
  }
  EXPECT_TRUE(incoming.is_at_end());
  EXPECT_TRUE(outgoing.is_at_end());
  return {targets.parts(), words_of(particles)};
}

// Goes from one to the other as a socket does, which takes and gives any number of bytes; returns whether all have
// come.
bool flow(OutgoingBytes& outgoing, IncomingBytes& incoming, Parts& chance, bool may_break) {
  std::vector<std::byte> under_way;
  while (incoming.got() != incoming.total()) {
    if (may_break && chance.below(20) == 0) return false;
    const std::span<const std::byte> next = outgoing.next();
    const std::size_t sent = std::min(next.size(), static_cast<std::size_t>(1 + chance.below(3000)));
    under_way.insert(under_way.end(), next.begin(), next.begin() + static_cast<std::ptrdiff_t>(sent));
    if (sent > 0) outgoing.skip(sent);
    std::size_t left = std::min(under_way.size(), static_cast<std::size_t>(1 + chance.below(3000)));
    std::size_t came = 0;
    for (const std::span<std::byte> place : incoming.places()) {
      const std::size_t here = std::min(place.size(), left);
      std::memcpy(place.data(), under_way.data() + came, here);
      came += here, left -= here;
    }
    EXPECT_TRUE(came > 0 || under_way.empty());
    incoming.take(came);
    under_way.erase(under_way.begin(), under_way.begin() + static_cast<std::ptrdiff_t>(came));
  }
  EXPECT_TRUE(under_way.empty());
  EXPECT_TRUE(outgoing.next().empty());
  return true;
}

Received by_bytes(const std::shared_ptr<Shelf>& shelf, const TransferOrder& order, Parts& chance) {
  Targets targets(order, chance.below(3));
  Incoming incoming(order, targets.views());
  std::vector<std::byte> particles;
  std::int64_t got = 0;
  for (std::uint64_t number = 1; true; ++number) {
    if (!incoming.is_at_end()) got = incoming.begin_again();
    particles.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, got - incoming.bytes())));
    Outgoing cells(shelf, order);
    cells.skip_to(got);
    OutgoingBytes outgoing(number, std::move(cells));
    IncomingBytes bytes(number, got, 1 << 20, incoming, particles);
    const bool is_whole = flow(outgoing, bytes, chance, number < 5);
    got = bytes.got();
    if (is_whole) break;
  }
  EXPECT_TRUE(incoming.is_at_end());
  return {targets.parts(), words_of(particles)};
}

class StreamParts : public ::testing::TestWithParam<decltype(&by_bytes)> {};

TEST_P(StreamParts, ArriveWhereTheyBelongInPiecesOfAnySize) {
  const std::vector<mesh::Layout> levels = two_levels();
  Parts chance(levels, 7);
  const std::shared_ptr<Shelf> shelf = filled_shelf(levels, 11);
  for (int trial = 0; trial < 500; ++trial) {
    TransferOrder order;
    if (chance.coin()) order.fields.push_back(1);
    if (chance.coin()) order.fields.push_back(0);
    for (int p = chance.below(6); p > 0; --p) order.parts.push_back(chance.part());
    order.is_single = chance.coin();
    order.has_particles = chance.coin();
    const Received received = GetParam()(shelf, order, chance);
    for (std::size_t t = 0; t < received.parts.size(); ++t) {
      const Part& part = order.parts[t % order.parts.size()];
      const int field = order.fields[t / order.parts.size()];
      std::size_t i = 0;
      for (std::int32_t z = part.box.lo.z; z < part.box.hi.z; ++z)
        for (std::int32_t y = part.box.lo.y; y < part.box.hi.y; ++y)
          for (std::int32_t x = part.box.lo.x; x < part.box.hi.x; ++x) {
            const double value = value_at(field, part.level, {x, y, z});
            ASSERT_EQ(received.parts[t][i++], order.is_single ? static_cast<float>(value) : value);
          }
    }
    std::vector<Word> expected;
    for (Word w = 0; w < (order.has_particles ? 11U : 0U); ++w) expected.push_back(1000 + w);
    ASSERT_EQ(received.particles, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, StreamParts, ::testing::Values(&by_messages, &by_bytes),
                         [](const auto& entry) { return entry.param == &by_bytes ? "Bytes" : "Messages"; });

TEST(IncomingBytesOfStreams, AreThoseThatWereAskedFor) {
  TransferOrder order;
  order.fields = {0};
  order.parts = {{0, mesh::domain_of({4, 3, 5})}};
  const auto announced = [&](ChunkHead head) {
    Targets targets(order, 0);
    Incoming incoming(order, targets.views());
    std::vector<std::byte> particles;
    IncomingBytes bytes(7, 0, 16, incoming, particles);
    std::memcpy(bytes.places().front().data(), &head, sizeof head);
    bytes.take(sizeof head);
    return bytes.total();
  };
  EXPECT_EQ(announced({7, 0, 480}), 480);
  EXPECT_EQ(announced({7, 0, 496}), 496);             // with particles
  EXPECT_THROW(announced({8, 0, 480}), core::Error);  // another transfer
  EXPECT_THROW(announced({7, 8, 480}), core::Error);  // not from its start
  EXPECT_THROW(announced({7, 0, 472}), core::Error);  // too few cells
  EXPECT_THROW(announced({7, 0, 484}), core::Error);  // half a word
  EXPECT_THROW(announced({7, 0, 504}), core::Error);  // more particles than there are
  EXPECT_THROW(announced({7, 0, std::int64_t{1} << 62}), core::Error);
  EXPECT_THROW(announced({7, 0, -480}), core::Error);
}

TEST(PartsOfStreams, WholeBlocksInARowAreSentWithoutACopy) {
  const std::vector<mesh::Layout> levels = two_levels();
  TransferOrder order;
  order.fields = {0};
  for (int b = 0; b < levels[0].size(); ++b) order.parts.push_back({0, levels[0].box(b)});
  const Outgoing outgoing(filled_shelf(levels, 0), order);
  EXPECT_EQ(std::ssize(outgoing.in_place(1 << 20)), 8 * 8 * 6 * 10);
}

TEST(PartsOfStreams, AShelfHasWhatLiesInItsBlocksAndNothingElse) {
  const std::shared_ptr<Shelf> shelf = filled_shelf(two_levels(), 0);
  EXPECT_TRUE(shelf->has({1, {{4, 4, 4}, {8, 8, 8}}}));
  EXPECT_TRUE(shelf->has({1, {{5, 5, 5}, {6, 6, 6}}}));
  EXPECT_FALSE(shelf->has({1, {{4, 4, 4}, {12, 8, 8}}}));  // two blocks
  EXPECT_FALSE(shelf->has({1, {{0, 0, 0}, {1, 1, 1}}}));   // a hole
  EXPECT_FALSE(shelf->has({2, {{4, 4, 4}, {8, 8, 8}}}));
  EXPECT_FALSE(shelf->has({-1, {{4, 4, 4}, {8, 8, 8}}}));
  EXPECT_FALSE(shelf->has({0, {{4, 4, 4}, {4, 8, 8}}}));
  EXPECT_FALSE(shelf->has({0, {{-4, 0, 0}, {4, 6, 5}}}));
  EXPECT_FALSE(shelf->has({0, {{2147483000, 0, 0}, {2147483001, 6, 5}}}));
}

}  // namespace
